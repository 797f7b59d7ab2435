#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Breaks the source at every single place, and reports what no test notices.

    mutants.py lua [OPTION...]      every mutant of src/lua/*.lua
    mutants.py core [OPTION...]     a sample of those of src/lock/core/*.c

      --seconds N   start no new one after so long
      --turn N      begin at another place: for a sample by turns
      --only TEXT   only those whose "FILE:LINE  FROM  ->  TO" has this text
      --most N      a sample of N, less those in tests/mutants-equal
      --no-bats     only what takes seconds: the simulator and the unit tests
      --quick       only what takes less: the tables of tests/unit and tests/sim, and the
                    comparison with the short cut
      --list        print them, run nothing

A mutant is one change: a relational operator exchanged, a term of and/or or a "not"
left out, a condition that is always true or false, a number changed, a statement left
out, max() and min() without one of their arguments, + for -. It is run by what is
quickest first, with the programs of the last build (`make check TESTS=` comes first); the
first test that fails has seen it. A failure in a .bats file must come twice. See SIM and
FEATURES below.

Those that nothing can notice are in tests/mutants-equal, with the reason. An entry that
is no longer a mutant is an error.

The verdicts are kept in build-mutants-py: a mutant that was seen is not tried again
while its file, the others of its kind and the tests are as they were, one that survived
is. The status is 0 if none survives.
"""
import argparse
import concurrent.futures
import contextlib
import functools
import glob
import hashlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

BUILD = 'build-mutants-py'
EQUAL = 'tests/mutants-equal'
CORE_SAMPLE = 100

# ---- the places ----

TOKENS = {
    'lua': re.compile(r'''
        (?P<skip>\s+|--[^\n]*|\#![^\n]*)
        |(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
        |(?P<number>\d+(?:\.\d+)?(?:e\d+)?)
        |(?P<name>[A-Za-z_]\w*)
        |(?P<op>\.\.\.|\.\.|[=~<>]=|[-+*/%^\#<>=(){}\[\];:,.])''', re.X),
    'c': re.compile(r'''
        (?P<skip>\s+|//[^\n]*|/\*.*?\*/|\#(?:[^\n\\]|\\.)*)
        |(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
        |(?P<number>0[xX][0-9a-fA-F]+|\d+)[uUlL]*
        |(?P<name>[A-Za-z_]\w*)
        |(?P<op>->|\+\+|--|<<=?|>>=?|[-+*/%&|^!=<>]=|&&|\|\||[-+*/%&|^!~<>=(){}\[\];:,.?])
        ''', re.X | re.S)}
OPEN, CLOSE = '([{', ')]}'
WORDS = {
    'lua': {'and': 'and', 'or': 'or', 'not': 'not', 'true': 'true', 'false': 'false'},
    'c': {'and': '&&', 'or': '||', 'not': '!', 'true': '1', 'false': '0'}}
# what ends a term of and/or on either side
BOUNDS = {
    'lua': {'and', 'or', 'if', 'elseif', 'while', 'until', 'then', 'do', 'return', 'local',
            'else', 'end', 'in', '=', ',', ';'},
    'c': {'&&', '||', '?', ':', '=', ',', ';', 'return', '|=', '&=', '+=', '-='}}
KEYWORDS = {'and', 'or', 'not', 'if', 'then', 'else', 'elseif', 'end', 'for', 'in', 'do',
            'while', 'repeat', 'until', 'return', 'local', 'function', 'break'}
RELATIONS = {'<': '<=', '>': '>=', '<=': '<', '>=': '>', '==': '!=', '!=': '==', '~=': '=='}


class Token:
    def __init__(self, kind, text, start, end):
        self.kind, self.text, self.start, self.end = kind, text, start, end
        self.pair = None  # the other bracket

    def ends_operand(self):
        return (self.kind in ('text', 'number') or self.text in CLOSE or
                self.kind == 'name' and self.text not in KEYWORDS or self.text == '...')

    def starts_operand(self):
        return (self.kind in ('text', 'number', 'name') and
                self.text not in ('and', 'or', 'then', 'do', 'in'))


def tokenize(text, language):
    found, at, stack = [], 0, []
    while at < len(text):
        m = TOKENS[language].match(text, at)
        if not m:
            sys.exit(f'mutants.py: cannot read this: {text[at:at + 40]!r}')
        if m.lastgroup != 'skip':
            t = Token(m.lastgroup, m.group(), m.start(), m.end())
            if t.text in OPEN:
                stack.append(len(found))
            elif t.text in CLOSE:
                t.pair = stack.pop()
                found[t.pair].pair = len(found)
            found.append(t)
        at = m.end()
    return found


def term(tokens, i, step, language):
    """The index of the last token of the term beside the operator i."""
    k = i + step
    while True:
        t = tokens[k]
        if t.text in (CLOSE if step < 0 else OPEN):
            k = t.pair
        after = k + step
        if not 0 <= after < len(tokens):
            return k
        t = tokens[after]
        if t.text in BOUNDS[language] or t.text in (OPEN if step < 0 else CLOSE):
            return k
        one, two = (tokens[after], tokens[k]) if step < 0 else (tokens[k], tokens[after])
        # a new statement begins
        if language == 'lua' and one.ends_operand() and two.starts_operand() and \
                two.kind == 'name':
            return k
        if language == 'c' and t.text in '{}' or language == 'lua' and t.text == 'then':
            return k
        k = after


def statements(text, language):
    """(start, end) of each statement that is a call, an assignment or a return."""
    call = re.compile(r'(return\b|break\b|(\(void\))?[A-Za-z_][\w.>\-\[\]#+ ,]*(\(| [-+|&]?= ))')
    other = re.compile(r'(local|if|for|while|else|elseif|end|function|until|do|switch|case|'
                       r'const|static|struct|int|bool|char|int64_t|uint64_t|size_t|assert)\b')
    at = 0
    lines = text.splitlines(keepends=True)
    k = 0
    while k < len(lines):
        start, n, whole = at, 1, lines[k]
        if language == 'lua':
            def more(s):
                bare = re.sub(r"'(?:[^'\\]|\\.)*'|--.*", '', s)
                return sum(bare.count(c) for c in OPEN) > sum(bare.count(c) for c in CLOSE)
            first = lines[k].strip()
            while k + n < len(lines) and (more(whole) or re.match(
                    r'\s*(and|or|\.\.|[-+*/)])', lines[k + n])):
                whole += lines[k + n]
                n += 1
        else:
            first = lines[k].strip()
            if call.match(first) and not other.match(first):
                while ';' not in whole and k + n < len(lines):
                    whole += lines[k + n]
                    n += 1
        if call.match(first) and not other.match(first) and (
                language == 'lua' or whole.rstrip().endswith(';') and
                not first.startswith(('return', 'break'))):
            indent = len(whole) - len(whole.lstrip())
            bare = re.sub(r'\s*--[^\n\']*$', '', whole.rstrip()) if language == 'lua' else \
                whole.rstrip()
            if not (language == 'lua' and re.search(r'\b(then|do)\b.*\bend$|^function', bare)):
                yield start + indent, start + len(bare)
        at += len(whole)
        k += n


class Mutant:
    def __init__(self, path, text, start, end, new):
        self.path, self.text = path, text[:start] + new + text[end:]
        self.stem = os.path.splitext(os.path.basename(path))[0]
        first = text.rfind('\n', 0, start) + 1
        last = text.find('\n', end)
        def flat(s):
            return ' '.join(re.sub(r'(?m)(^|\s)--.*$', '', s).split())
        self.old = flat(text[first:last])
        self.new = flat(text[first:start] + new + text[end:last])
        self.line = text.count('\n', 0, start) + 1
        self.key = hashlib.sha1(f'{path}\0{text}\0{self.text}'.encode()).hexdigest()

    def lot(self, turn):
        """Draws the sample of a turn; a change of other lines draws no other one."""
        text = f'{turn}\0{self.path}\0{self.old}\0{self.new}'
        return hashlib.sha1(text.encode()).digest()

    def __str__(self):
        return f'{self.path}:{self.line}  {self.old}  ->  {self.new or "(left out)"}'


def mutants_of(path, language):
    text = open(path, encoding='utf-8').read()
    tokens = tokenize(text, language)
    words = WORDS[language]
    changes = []

    def change(start, end, new):
        changes.append((start, end, new))

    for i, t in enumerate(tokens):
        before = tokens[i - 1] if i else None
        if t.kind == 'op' and t.text in RELATIONS:
            new = RELATIONS[t.text]
            change(t.start, t.end, '~=' if language == 'lua' and new == '!=' else new)
        elif t.text in (words['and'], words['or']) and t.kind in ('name', 'op'):
            left = tokens[term(tokens, i, -1, language)]
            right = tokens[term(tokens, i, 1, language)]
            if t.text == words['or']:
                # its terms are whole chains of `and`
                k = term(tokens, i, -1, language)
                while k > 0 and tokens[k - 1].text == words['and']:
                    k = term(tokens, k - 1, -1, language)
                left = tokens[k]
                k = term(tokens, i, 1, language)
                while k + 1 < len(tokens) and tokens[k + 1].text == words['and']:
                    k = term(tokens, k + 1, 1, language)
                right = tokens[k]
            change(left.start, tokens[i + 1].start, '')
            change(before.end, right.end, '')
        elif t.text == words['not'] and t.kind in ('name', 'op') and t.text != '':
            change(t.start, tokens[i + 1].start, '')
        elif t.kind == 'number' and not (before and before.text in ('define',)):
            digits = re.match(r'0[xX][0-9a-fA-F]+|[\d.e]+', t.text).group()
            small = re.fullmatch(r'0[xX].*|\d{1,3}', digits)
            change(t.start, t.end, str(int(digits, 0) + 1) if small else '2*' + digits)
            if not small:
                change(t.start, t.end, '0')
        elif t.text in ('+', '-') and before and before.ends_operand() and \
                t.kind == 'op' and tokens[i + 1].text != '0':
            change(t.start, t.end, '-' if t.text == '+' else '+')
        elif t.text in ('min', 'max') and tokens[i + 1].text == '(' or \
                language == 'c' and re.fullmatch(r'(min|max)_?\w*', t.text) and \
                tokens[i + 1].text == '(' and t.kind == 'name':
            begin, args, k = i + 2, [], i + 2
            while k < tokens[i + 1].pair:
                if tokens[k].text in OPEN:
                    k = tokens[k].pair
                elif tokens[k].text == ',':
                    args.append((begin, k - 1))
                    begin = k + 1
                k += 1
            args.append((begin, k - 1))
            for one in args if len(args) > 1 else []:
                rest = [text[tokens[a].start:tokens[b].end] for a, b in args if (a, b) != one]
                new = f'{t.text}({", ".join(rest)})' if len(rest) > 1 else f'({rest[0]})'
                change(t.start, tokens[tokens[i + 1].pair].end, new)
        elif t.text in ('if', 'elseif') and t.kind == 'name':
            if language == 'lua':
                k = i
                while tokens[k].text != 'then':
                    k += 1
                inside = tokens[i + 1].start, tokens[k - 1].end
            elif tokens[i + 1].text == '(':
                inside = tokens[i + 1].end, tokens[tokens[i + 1].pair].start
            else:
                continue
            change(*inside, words['false'])
            if words['and'] not in text[slice(*inside)]: # else its terms are left out
                change(*inside, words['true'])
    for start, end in statements(text, language):
        change(start, end, '' if language == 'lua' else ';')
    seen, found = {' '.join(text.split())}, []
    for start, end, new in sorted(changes):
        m = Mutant(path, text, start, end, new)
        same = ' '.join(m.text.split())
        if same not in seen:
            seen.add(same)
            found.append(m)
    return found


# ---- what runs them, quickest first ----

RULES = ['--rules tests/sim/rules']
SIM = {  # each line ends a mutant that it sees
    'lua': ['--plain 3000 7', '--runs 25', '--nodes 3 --runs 30 --from 50',
            '--runs 300 --from 1000', '--nodes 3 --runs 150 --from 1000'],
    'core': ['--runs 25', '--nodes 3 --runs 40 --from 50', '--runs 200 --from 1000',
             '--nodes 3 --runs 200 --from 1000']}
TESTS = {'lua': ['tests/sim/*.[ch]', 'tests/sim/rules', 'tests/*.bats',
                 'tests/lib/*.c', 'tests/lib/*.bash', 'tests/lib/*.py'],
         'core': ['tests/sim/*.[ch]', 'tests/unit/t-lease.c']}
SIM_READS = {'ACQUIRE', 'RENEW', 'RELEASE', 'FORCE'}
# the .bats files for a line with these words, and for the other lines of a file
FEATURES = [
    (r'note|unrecorded|NOTED', 'history'),
    (r'once|revision|mark', 'once'),
    (r'replace|stop', 'replace force'),
    (r'least|rest\b|flag|kept', 'slots limits'),
    (r'high|LEAD|supersede|latest|newest|most', 'priority queue'),
    (r'shared|reads', 'readers'),
    (r'outer|joins', 'nesting'),
    (r'guard|young|uptime|replid|writer|repair', 'nodes masters'),
    (r'shut|lost|born|trail|seen|before', 'rollback server'),
    (r'unlock|extend|number', 'lock'),
    (r'\bn\b|slot', 'slots'),
    (r'WRONGTYPE|first_write|type', 'server'),
]
FILES = {
    'history': 'history', 'latest': 'history', 'inspect': 'inspect list wait top',
    'idle': 'local', 'rights': 'doctor password rights', 'no-writes': 'doctor password rights',
    'force': 'force', 'release': 'lock once queue', 'renew': 'lock nodes readers',
    'acquire': 'queue limits priority', 'serve': 'queue readers', 'line': 'queue priority',
    'wait': 'queue wait replies', 'hold': 'readers slots history', 'counter': 'rollback nodes',
    'save': 'rollback history', 'state': 'rollback server keys', 'start': 'keys server',
    'plain': 'server rollback', 'plain-acquire': 'queue keys', 'plain-ours': 'lock server',
    'plain-renew': 'lock', 'plain-release': 'queue history'}
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
USERS = {'RIGHTS': 'src/lock/wire/rights.c', 'RIGHTS_WRITE': 'src/lock/wire/rights.c',
         'IDLE': 'src/local/lockserver.c'}  # the others: request.c
halt = threading.Event()
running = set()  # sessions


def end(*_):
    """A broken script may go round for ever, and does not end with us by itself."""
    for pid in list(running):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    os._exit(143)


def features(m):
    names = []
    for words, files in FEATURES:
        if re.search(words, m.old):
            names += files.split()
    names += FILES.get(m.stem, 'run').split()
    return list(dict.fromkeys(names))


def run(command, seconds, **more):
    """Its status, and what it said; no end within the time counts as a failure."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, start_new_session=True, text=True,
                          errors='replace', **more) as p:
        running.add(p.pid)
        try:
            out, _ = p.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            out, _ = p.communicate()
            return 'no end', out
        finally:
            running.discard(p.pid)
        return p.returncode, out


def bats(redlock, path, name=None):
    """The name of the first test that fails; None: all pass."""
    env = dict(os.environ, REDLOCK=redlock, TEST_BIN=f'{TOP}/tests/lib', STRICT='1')
    command = [f'{TOP}/tests/lib/launch', '--default', 'all', 'bats', '--tap']
    if name:
        command += ['-f', '^' + re.sub(r'([][\\.*^$+?(){}|])', r'\\\1', name) + '$']
    with subprocess.Popen(command + [path], env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, errors='replace', start_new_session=True) as p:
        running.add(p.pid)
        alarm = threading.Timer(300, os.killpg, (p.pid, signal.SIGKILL))
        alarm.start()
        failed = None
        for line in p.stdout:
            m = re.match(r'not ok \d+ (.*)', line)
            if m and not failed:
                failed = m.group(1)
                os.killpg(p.pid, signal.SIGTERM)
        p.wait()
        running.discard(p.pid)
        alarm.cancel()
        return failed or (p.returncode and 'no end') or None


class Worker:
    def __init__(self, kind, flags):
        self.at = f'{BUILD}/{kind}-{threading.get_ident()}'
        self.kind, self.flags = kind, flags
        os.makedirs(f'{self.at}/lock/wire')

    def compile(self, path):
        out = f'{self.at}/{os.path.basename(path)[:-2]}.o'
        f = self.flags
        got = run([*f.cc, f'-I{self.at}', '-Isrc/lock/core', *f.cflags, '-O0', '-w',
                   '-U_FORTIFY_SOURCE', '-c',
                   '-o', out, path], 120)
        return out if got[0] == 0 else None

    def link(self, name, objects):
        f = self.flags
        status, out = run([*f.cc, *f.ldflags, '-o', f'{self.at}/{name}', *objects, *f.libs],
                          120)
        if status != 0:
            sys.exit(f'mutants.py: cannot link {name}:\n{out}')
        return os.path.abspath(f'{self.at}/{name}')

    def build(self, m):
        """The objects that differ; None: it does not compile."""
        if self.kind == 'core':
            path = f'{self.at}/{os.path.basename(m.path)}'
            open(path, 'w', encoding='utf-8').write(m.text)
            made = self.compile(path)
            return made and [made]
        names = scripts_with(m.stem)
        with open(f'{self.at}/lock/wire/lua.inc', 'w', encoding='utf-8') as out:
            out.write('#include "src/lock/wire/lua.inc"\n')
            for name in names:
                out.write(as_c(name, m))
        return [self.compile(p) for p in
                {USERS.get(name, 'src/lock/wire/request.c') for name in names}]

    def write(self, m):
        """The directory with its scripts."""
        shutil.rmtree(f'{self.at}/scripts', ignore_errors=True)
        os.makedirs(f'{self.at}/scripts')
        for name in scripts_with(m.stem):
            with open(f'{self.at}/scripts/{name}', 'w', encoding='utf-8') as out:
                out.write(text_of(name, m))
        return f'{self.at}/scripts'

    def verdict(self, m, options):
        """(verdict, by whom)."""
        if self.kind == 'core':
            made = self.build(m)
            if not made:
                return 'seen', 'the compiler'
            unit = self.link('t-lease', ['tests/unit/t-lease.o', *made])
            if run([unit], 60)[0] != 0:
                must_pass('tests/unit/t-lease')
                return 'seen', 't-lease'
            sim = [self.link('sim', [*sorted(glob.glob('tests/sim/sim-*.o')), *made])]
            stages = SIM['core']
        else:
            sim = ['tests/sim/sim', '--scripts', self.write(m)]
            stages = RULES + (SIM['lua'] if scripts_with(m.stem) & SIM_READS else [])
        for args in stages[:2] if options.quick else stages:
            if run([*sim, *args.split()], 30 if args in RULES else 240)[0] != 0:
                must_pass(f'tests/sim/sim {args}')
                return 'seen', 'sim ' + args
        if options.quick or not options.bats or self.kind == 'core':
            return 'survived', ''
        made = self.build(m)
        redlock = self.link('redlock', ['src/cli/main.o', *made])
        for name in features(m):
            path = f'tests/{name}.bats'
            failed = bats(redlock, path)
            if failed and sound(path, failed) and bats(redlock, path, failed):
                return 'seen', f'{name}.bats: {failed}'
        return 'survived', ' '.join(features(m))


fine, fine_lock = {}, threading.Lock()


def must_pass(command):
    """Ends the program if this fails with the source as it is."""
    with fine_lock:
        if command not in fine:
            fine[command] = run(command.split(), 240)[0] == 0
            if not fine[command]:
                print(f'mutants.py: as it is, this fails: {command}', flush=True)
                os._exit(2)


def sound(path, name):
    """Whether the test passes as it is: else its failure says nothing."""
    with fine_lock:
        if (path, name) not in fine:
            fine[path, name] = name == 'no end' or not bats(f'{TOP}/redlock', path, name)
        return fine[path, name]


@functools.cache
def composition():
    """{script: its parts}, as scripts/embed-lua.sh has it"""
    text = open('scripts/embed-lua.sh', encoding='utf-8').read().replace('\\\n', ' ')
    return {name: parts.split()
            for name, parts in re.findall(r'(?m)^script ([A-Z_]+) (.*)$', text)}


def scripts_with(stem):
    return {name for name, parts in composition().items() if stem in parts}


@functools.cache
def places():
    """{script: {argument: its number}}"""
    text = open('src/lua/arguments', encoding='utf-8').read()
    return {line.split()[0]: {a: i for i, a in enumerate(line.split()) if i}
            for line in text.splitlines() if line[:1].isupper()}


def text_of(name, m):
    """The script with the mutant, as embed-lua.sh would write it, but for blanks."""
    lines = []
    for part in composition()[name]:
        path = f'src/lua/{part}.lua'
        text = m.text if path == m.path else open(path, encoding='utf-8').read()
        lines += [s.strip() for s in text.splitlines()]
    text = '\n'.join(s for s in lines if s and not s.startswith('--')) + '\n'
    at = places().get(name)
    text = re.sub(r'(ARG|AT)\.([a-z]+)', lambda x: (
        f'ARGV[{at[x[2]]}]' if x[1] == 'ARG' else str(at[x[2]])), text)
    return text


def as_c(name, m):
    text = text_of(name, m)
    quoted = text.replace('\\', '\\\\').replace('"', '\\"').replace('\n', '\\n" \\\n"')
    sha = hashlib.sha1(text.encode()).hexdigest()
    return (f'#undef LUA_{name}\n#define LUA_{name} "{quoted}"\n'
            f'#undef SHA_{name}\n#define SHA_{name} "{sha}"\n')


# ---- those that are equal ----

def read_equal(path):
    """{(file, old, new): reason}"""
    known = {}
    blocks = re.split(r'\n\s*\n', open(path, encoding='utf-8').read())
    for block in blocks:
        lines = [s for s in block.strip('\n').split('\n') if not s.startswith('#')]
        if not lines:
            continue
        if len(lines) != 4:
            sys.exit(f'{path}: not four lines: {block}')
        why, name, old, new = (s.strip() for s in lines)
        known[name, old, '' if new == '(left out)' else new] = why
    return known


def main():
    p = argparse.ArgumentParser()
    p.add_argument('kind', choices=['lua', 'core'])
    p.add_argument('--seconds', type=float, default=1e9)
    p.add_argument('--turn', type=int, default=0)
    p.add_argument('--only')
    p.add_argument('--most', type=int)
    p.add_argument('--no-bats', dest='bats', action='store_false')
    p.add_argument('--quick', action='store_true')
    p.add_argument('--list', action='store_true')
    options = p.parse_args()
    signal.signal(signal.SIGTERM, end)
    kind = options.kind
    paths = sorted(glob.glob('src/lua/*.lua' if kind == 'lua' else 'src/lock/core/*.c'))
    every = [m for path in paths for m in mutants_of(path, 'lua' if kind == 'lua' else 'c')]
    equal = {k: v for k, v in read_equal(EQUAL).items() if k[0] in paths}
    left = set(equal) - {(m.path, m.old, m.new) for m in every}
    if left:
        sys.exit('\n'.join(f'{EQUAL}: no longer a mutant: {" | ".join(k)}' for k in left))
    todo = [m for m in every if not options.only or options.only in str(m)]
    most = options.most or (CORE_SAMPLE if kind == 'core' and not options.only else None)
    if most:
        todo = sorted(todo, key=lambda m: m.lot(options.turn))[:most]
    todo = [m for m in todo if (m.path, m.old, m.new) not in equal]
    if options.turn and not most:
        # turns begin far apart; each has about a minute's worth of its own
        begin = options.turn * 17 % len(todo)
        todo = todo[begin:] + todo[:begin]
    if options.list:
        print('\n'.join(map(str, todo)))
        return 0

    class Flags:
        cc = shlex.split(os.environ.get('CC', 'cc'))
        cflags = shlex.split(os.environ['CFLAGS'])
        ldflags = shlex.split(os.environ.get('LDFLAGS', ''))
        libs = shlex.split(os.environ['LIBS'])

    for old in glob.glob(f'{BUILD}/{kind}-*'):
        shutil.rmtree(old)
    os.makedirs(BUILD, exist_ok=True)
    tests = [x for name in TESTS[kind] for x in sorted(glob.glob(name))]
    shape = hashlib.sha1(b''.join(open(x, 'rb').read() for x in paths + tests)).hexdigest()
    log = f'{BUILD}/{kind}.tsv'
    known = {}
    if os.path.exists(log):
        for line in open(log, encoding='utf-8'):
            has, key, verdict, by = line.rstrip('\n').split('\t')
            if has == shape and verdict == 'seen':
                known[key] = by
    keep = open(log, 'a', encoding='utf-8')
    local, lock = threading.local(), threading.Lock()
    counts = {'seen': 0, 'survived': 0, 'not tried': 0}
    survivors, began = [], time.monotonic()

    def one(m):
        if m.key in known:
            verdict, by = 'seen', known[m.key]
        elif halt.is_set() or time.monotonic() - began > options.seconds:
            verdict, by = 'not tried', ''
        else:
            if not hasattr(local, 'worker'):
                local.worker = Worker(kind, Flags)
            verdict, by = local.worker.verdict(m, options)
        with lock:
            counts[verdict] += 1
            if verdict == 'survived':
                survivors.append(m)
                print(f'SURVIVED {m}', flush=True)
            if verdict != 'not tried' and m.key not in known:
                keep.write(f'{shape}\t{m.key}\t{verdict}\t{by}\n')
                keep.flush()

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            for done in [pool.submit(one, m) for m in todo]:
                done.result()
        except KeyboardInterrupt:
            halt.set()
    print(f'{len(every)} mutants, {len(equal)} equal; of {len(todo)} chosen '
          f'{counts["seen"]} seen, {counts["survived"]} survived, '
          f'{counts["not tried"]} not tried')
    return 1 if survivors else 0


if __name__ == '__main__':
    sys.exit(main())
