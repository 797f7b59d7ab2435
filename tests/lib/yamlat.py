#!/usr/bin/python3
# SPDX-License-Identifier: MIT
# yamlat.py FILE [KEY...]: what stands at that place of a YAML file. A text is
# printed as it is, a list one entry a line, anything else as JSON. With no KEY,
# the file is only read. Where a file holds several documents, the first KEY is the
# number of the document.
import json, sys
import yaml

class Loader(yaml.SafeLoader):
    pass
# GitLab's own tags (!reference) are data here
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
