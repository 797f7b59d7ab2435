#!/usr/bin/python3 -IS
# SPDX-License-Identifier: MIT
# completions.py REDLOCK [TOP]: writes the lists of options and verbs into the three
# completions, as --help has them. What --help does not say is in the tables below.
# scripts/check-docs.sh compares.
import re
import subprocess
import sys

redlock, top = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else '.'

# values to offer; what --help writes as A|B is offered anyway
VALUES = {
    'ttl': '10s 30s 1m 5m', 'grace': '10s 30s 1m', 'since': '1h 1d 7d',
    'max-age': '1h 2h 1d', 'last-success': '1h 25h 8d',
    'signal': 'TERM INT HUP QUIT USR1 USR2',
    'on-lost': 'TERM HUP INT KILL USR1 USR2 QUIT none',
}
# for zsh and fish: how values are found
FOUND = {
    'key': ('_redlock_keys', '(__redlock_keys)'),
    'confirm': ('_redlock_keys', '(__redlock_keys)'),
    'url': ('->url', 'redis:// rediss:// valkey:// valkeys:// unix:/// local: '
            'redis-sentinel:// rediss-sentinel:// redis-cluster:// '
            'rediss-cluster://'),
    'command': ('_cmdstring', ''),
    'password-command': ('_cmdstring', ''),
    'keep-for': ('_pids', '(__fish_complete_pids)'),
}
# for zsh: options that exclude each other, beside themselves
APART = [('wait', 'no-wait'), ('shared', 'exclusive'), ('shared', 'slots'),
         ('askpass', 'password-file', 'password-command'), ('quiet', 'verbose'),
         ('hold', 'keep-for'), ('json', 'svg', 'last-success'),
         ('json', 'max-age'), ('json', 'prometheus'), ('json', 'config')]
REPEATED = ('key', 'url')
ALONE = {'command': '1 *', 'help': '- 1 *', 'version': '- 1 *'}
LABELS = {'DUR': 'duration', 'N': 'number', 'FILE': 'file', 'DIR': 'directory',
          'N|NAME': 'slot'}


class Option:
    def __init__(self, letter, name, value):
        self.letter, self.name, self.value = letter, name, value
        self.takers, self.texts = [], []

    def text(self):
        return max(self.texts, key=self.texts.count)

    def words(self):
        """The values to offer."""
        choice = [w for w in self.value.split('|') if w.islower()]
        return VALUES.get(self.name) or ' '.join(choice)

    def typed(self):
        return ([f'-{self.letter}'] if self.letter else []) + [f'--{self.name}']


def help_of(*verb):
    return subprocess.run([redlock, *verb, '--help'], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def read():
    """The options by name, and the verbs with their summaries."""
    run = help_of()
    verbs = re.findall(r'^  ([a-z-]+) +([A-Z].*)',
                       run[run.index('\nBy hand'):], re.M)
    options = {}
    for verb in ['run'] + [v for v, _ in verbs]:
        text = run if verb == 'run' else help_of(verb)
        for letter, name, value, what in re.findall(
                r'^  (?:-(.),|   ) --([a-z-]+) ?(\S*)  +(\S.*)$', text, re.M):
            o = options.setdefault(name, Option(letter, name, value))
            o.takers.append(verb)
            o.texts.append(re.sub(r' \([^()]*\)$', '', what))
    for o in options.values():
        if len(o.takers) == len(verbs) + 1:
            o.takers = ['all']
    return options, verbs


def bash(o):
    names = ' '.join(o.typed()) + ('=' if o.value else '')
    return f"\t{names}: {' '.join(o.takers)}\n"


def bash_value(o):
    names = ' | '.join(o.typed())
    return f"\t{names}) offer='{o.words()}' ;;\n" if o.words() else ''


def bash_paths(options, value, how):
    names = ' | '.join(n for o in options if o.value == value for n in o.typed())
    return f"""\t{names})
\t\tcompopt -o filenames 2>/dev/null
\t\tmapfile -t COMPREPLY < <(compgen {how} -- "$2")
\t\t;;
"""


def fish_valued(options):
    """Of the run form: to find the command."""
    own = [o for o in options if o.value and o.takers[0] in ('run', 'all')]
    letters = ''.join(o.letter for o in own)
    names = ' '.join(f'--{o.name}' for o in own)
    return [f'    set -l valued {names}\n', f'    set -l letters {letters}\n']


def quoted(text):
    return text.replace("'", "'\\''")


def zsh(o, options):
    apart = [w for g in APART if o.name in g for n in g for w in options[n].typed()]
    apart = list(dict.fromkeys((o.typed() if o.letter or apart else []) + apart))
    if o.name in ALONE:
        apart = (o.typed() if o.value else []) + [ALONE[o.name]]
    spec = '*' if o.name in REPEATED else f"({' '.join(apart)})" if apart else ''
    long = f'--{o.name}' + ('=' if o.value else '')
    if o.letter:
        spec += "'{-" + o.letter + ('+' if o.value else '') + f",{long}}}'"
    else:
        spec += long
    action = ''
    if o.value:
        label = LABELS.get(o.value, 'what' if '|' in o.value else o.value.lower())
        does = FOUND.get(o.name, ('',))[0] or (
            f'({o.words()})' if o.words() else '_files' if o.value == 'FILE'
            else '_files -/' if o.value == 'DIR' else ' ')
        action = f':{label}:{does}'
    return f"\t'{' '.join(o.takers)} >{spec}[{quoted(o.text())}]{action}'\n"


def fish(o):
    short = f'-s {o.letter} ' if o.letter else ''
    offers = FOUND.get(o.name, ('', ''))[1] or o.words()
    if o.value == 'DIR':
        offers = '(__fish_complete_directories)'
    how = ''
    if o.value:
        how = '-r -F ' if o.value == 'FILE' else '-x '
    if offers:
        how += f"-a '{offers}' "
    text = o.text().replace("'", "\\'")
    return (f"complete -c redlock -n '__redlock_takes {' '.join(o.takers)}' "
            f"{short}-l {o.name} {how}-d '{text[0].upper()}{text[1:]}'\n")


def put(path, *lists):
    """Replaces each list, between a line that matches and the next that does."""
    text = open(path, encoding='utf-8').read()
    for first, last, lines in lists:
        text, n = re.subn(f'({first}\n)(?:.*\n)*?({last})',
                          lambda m: m[1] + ''.join(lines) + m[2], text, count=1,
                          flags=re.M)
        if n != 1:
            sys.exit(f'{path}: no list: {first}')
    open(path, 'w', encoding='utf-8').write(text)


options, verbs = read()
each = list(options.values())
put(f'{top}/completions/bash/redlock',
    ('^_redlock_options="', '^"$', map(bash, each)),
    ('^_redlock_verbs="', '^"$', [f'\t{v}\n' for v, _ in verbs]),
    ('^\t# values, as scripts/completions.py has them', '^\tesac$',
     [*map(bash_value, each), bash_paths(each, 'FILE', '-f'),
      bash_paths(each, 'DIR', '-d')]))
put(f'{top}/completions/zsh/_redlock',
    (r'^verbs=\(', r'^\)$',
     [f"\t'{v}:{s[0].lower()}{quoted(s[1:])}'\n" for v, s in verbs]),
    (r'^options=\(', r'^\)$', [zsh(o, options) for o in each]))
put(f'{top}/completions/fish/redlock.fish',
    ('^    # values begin', '^    # values end$', fish_valued(each)),
    ('^# ---- the verbs ----', '^$',
     [f"complete -c redlock -n __redlock_first -x -a {v} -d '{quoted(s)}'\n"
      for v, s in verbs]),
    ('^# ---- the options ----', r'\Z', map(fish, each)))
