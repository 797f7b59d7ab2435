#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dns.py NAME ADDRESS: a DNS server at 127.0.0.1:53 that knows one name. Says
"ready" when it listens."""

import socket
import sys

name, address = sys.argv[1:]
wanted = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("127.0.0.1", 53))
print("ready", flush=True)
while True:
    asked, client = udp.recvfrom(512)
    question = asked[12:asked.index(b"\0", 12) + 5]
    known = question[:-4].lower() == wanted
    answer = b""
    if known and question[-4:-2] == b"\0\1":
        answer = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(address)
    flags = b"\x81\x80" if known else b"\x81\x83"  # no error, or no such name
    udp.sendto(asked[:2] + flags + b"\0\1\0" + bytes([bool(answer)]) + b"\0\0\0\0"
               + question + answer, client)
