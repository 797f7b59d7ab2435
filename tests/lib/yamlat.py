#!/usr/bin/python3
# SPDX-License-Identifier: MIT
# yamlat.py FILE [KEY...]: prints a value of a YAML file: text literally, a list one
# entry a line, anything else as JSON. Without KEY it only reads the file. In a file of
# several documents, the first KEY is the number of the document.
import json, sys
import yaml

class Loader(yaml.SafeLoader):
    pass
# GitLab's tags (!reference) count as data
Loader.add_multi_constructor("!", lambda loader, tag, node: None)

documents = list(yaml.load_all(open(sys.argv[1]), Loader))
at = documents if len(documents) > 1 else documents[0]
for key in sys.argv[2:]:
    at = at[int(key)] if isinstance(at, list) else at[key]
if isinstance(at, str):
    print(at)
elif isinstance(at, list) and all(isinstance(x, str) for x in at):
    print("\n".join(at))
elif len(sys.argv) > 2:
    print(json.dumps(at))
