# SPDX-License-Identifier: MIT
"""versions.py OLDEST SOCKET [COMMAND...] [FILE.lua...]

Says which of these commands, and of what the scripts call, is newer than that
Redis: a command, an option of one, a function of Lua. The server knows since when
there is each (COMMAND DOCS, Redis 7)."""
import json
import re
import subprocess
import sys

# what scripts could call in Redis 2.6; Lua 5.1 has more
FUNCTIONS = set("""redis.call redis.pcall string.find string.format string.gmatch string.gsub
string.match string.sub table.sort math.ceil math.floor math.max math.min ipairs pairs pcall select
next tonumber tostring type unpack""".split())
# optional: an older server refuses it, and the script goes on without it
REPLACED = {("xadd", "nomkstream")}
STRING = re.compile(r"'(?:[^'\\]|\\.)*'")
CALL = re.compile(r"\b(?:redis\.p?call|call|try|ask|line)\(")


def arguments(text, start):
    """Up to the bracket that shuts the one before start."""
    depth, at = 1, start
    while depth:
        quoted = STRING.match(text, at)
        if quoted:
            at = quoted.end()
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return text[start:at - 1]


def calls_of(text):
    """Of each call: the command, and the words that might be options."""
    for call in CALL.finditer(text):
        words = [w[1:-1] for w in STRING.findall(arguments(text, call.end()))]
        if text[call.end():].startswith(("...)", ")", "command,")):
            continue  # a wrapper, whose callers name the command
        if text[call.end()] != "'":
            sys.exit("no name of a command: " + text[call.start():][:60])
        yield words[0], words[1:]


def functions_of(text):
    bare = re.sub(r":(\w+)\(", r" string.\1(", STRING.sub("''", text))
    # "local max, min = math.max, math.min": a name for one of theirs
    names = [n for names in re.findall(r"local ([\w, ]+) = (?:math|string|redis)\.", bare)
             for n in names.split(", ")]
    ours = set(re.findall(r"\bfunction (\w+)", bare)) | set(names) | {"function"}
    words = set("and or not if elseif while return in local".split())
    called = set(re.findall(r"[\w.]+(?=\()", bare)) - ours - words
    return called | set(re.findall(r"\b(?:math|string|redis|table)\.\w+", bare))


def version(text):
    return [int(n) for n in text.split(".")]


def ages(docs, since="0"):
    """Of the command ("") and each option; one may have that of its group."""
    since = docs.get("since", since)
    yield docs.get("token", "").lower(), since
    for argument in docs.get("arguments", []):
        yield from ages(argument, since)


def main(oldest, socket, *names):
    calls, odd = [(n, []) for n in names if not n.endswith(".lua")], []
    text = ""
    for name in names:
        if name.endswith(".lua"):
            text += re.sub(r"--.*", "", open(name).read())
    calls += calls_of(text)
    odd += ["no function of Redis: " + f for f in functions_of(text) - FUNCTIONS]
    commands = sorted({command for command, _ in calls})
    docs = json.loads(subprocess.check_output(
        ["redis-cli", "-s", socket, "--json", "command", "docs"] + commands))
    for command, words in calls:
        if command not in docs:
            odd.append("no command: " + command)
            continue
        since = list(ages(docs[command]))
        odd += ["%s %s is of %s" % (command, option, age)
                for n, (option, age) in enumerate(since)
                if (n == 0 or option and option in words)
                and (command, option) not in REPLACED
                and version(age) > version(oldest)]
    print("\n".join(sorted(set(odd))))
    print("# %d commands, %d calls" % (len(commands), len(calls)))
    sys.exit(1 if odd else 0)


main(*sys.argv[1:])
