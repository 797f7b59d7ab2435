#!/usr/bin/python3
# SPDX-License-Identifier: MIT
# schema.py MANUAL [STATEMENTS] < DOCUMENTS: checks that each line of standard input is
# a JSON document as redlock-json(5) describes it: no member is missing or unknown, and
# each has the right type. Then runs STATEMENTS, in which `docs` is the list, and `d` the
# document if there is only one. Prints the number of documents.

import json
import re
import sys

ABOUT = {'host': 'string', 'pid': 'number', 'user': 'string',
         'command': 'string', 'reason': 'string', 'ci_url': 'string'}
TIME = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z')


def schemas(manual):
    """The members of each schema: NAME -> (types, whether it may be missing)."""
    found, members = {}, None
    for line in open(manual, encoding='utf-8'):
        if line.startswith('.Ss '):
            members = found.setdefault(line[4:].strip(), {})
        elif members is not None and line.startswith('.Sx '):
            members.update(found.get(line[4:].split()[0], {}))
        elif members is not None and line.startswith('.It Li '):
            name, kinds = re.fullmatch(r'\.It Li (\S+) Em (.+)\n', line).groups()
            maybe = kinds.endswith(' , if known')
            kinds = kinds.removesuffix(' , if known')
            members[name] = (kinds.split(' or '), maybe)
    return found


def is_a(value, kind):
    return {'string': isinstance(value, str),
            'number': isinstance(value, int) and not isinstance(value, bool),
            'boolean': isinstance(value, bool),
            'null': value is None,
            'list': isinstance(value, list),
            'object': isinstance(value, dict),
            'time': isinstance(value, str) and bool(TIME.fullmatch(value)),
            }[kind]


def check(document, members, path):
    """All of one object; `path` is what stands before its members' names."""
    for name, value in document.items():
        if path == '' and name == 'schema':
            continue
        kinds, _ = members.get(path + name, ([ABOUT.get(name, '')], True))
        assert kinds != [''], f'unknown member {path}{name}'
        assert any(is_a(value, k) for k in kinds), \
            f'{path}{name} is no {" or ".join(kinds)}: {value!r}'
        if isinstance(value, dict):
            check(value, members, f'{path}{name}.')
        for item in value if isinstance(value, list) else []:
            if isinstance(item, dict) and any(
                    m.startswith(f'{path}{name}[].') for m in members):
                check(item, members, f'{path}{name}[].')
    for name, (_, maybe) in members.items():
        rest = name.removeprefix(path)
        if name.startswith(path) and not maybe and '.' not in rest \
                and '[' not in rest:
            assert rest in document, f'missing member {name}'


found, docs = schemas(sys.argv[1]), []
for line in sys.stdin:
    document = json.loads(line)
    assert document['schema'] in found, f'unknown {document["schema"]}'
    try:
        check(document, found[document['schema']], '')
    except AssertionError as wrong:
        sys.exit(f'{document["schema"]}: {wrong}\n{line}')
    docs.append(document)
if len(sys.argv) > 2:
    exec(sys.argv[2], {'docs': docs, 'json': json}
         | ({'d': docs[0]} if len(docs) == 1 else {}))
print(len(docs))
