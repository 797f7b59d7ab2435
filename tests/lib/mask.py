#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""mask.py SERVER SOCKET OLD NEW [TIME]: at SOCKET, the server that listens at SERVER,
but that its INFO says NEW (with escapes, "\\r\\n") in place of OLD, a regular
expression; and that it is TIME, in seconds since 1970."""
import os
import re
import socket
import sys
import threading

real, ours, old, new = sys.argv[1:5]
time = sys.argv[5].encode() if len(sys.argv) > 5 else None
new = new.encode().decode('unicode_escape').encode()


def in_time(answer):
    return re.sub(rb'^\*2\r\n\$10\r\n\d{10}\r\n(\$\d\r\n\d+\r\n)$',
                  lambda found: b'*2\r\n$%d\r\n%s\r\n%s'
                  % (len(time), time, found[1]), answer)


def back(a, b):
    have = b''
    while True:
        more = a.recv(65536)
        if not more:
            break
        have += more
        at = have.find(b'\r\n# Server')
        if at >= 0:
            start = have.rindex(b'$', 0, at)
            size = int(have[start + 1:at])
            if len(have) < at + 4 + size:
                continue
            body = re.sub(old.encode(), lambda _: new,
                          have[at + 2:at + 2 + size])
            have = (have[:start] + b'$%d\r\n' % len(body) + body
                    + have[at + 2 + size:])
        b.sendall(in_time(have) if time else have)
        have = b''
    b.shutdown(socket.SHUT_RDWR)


def forth(a, b):
    while data := a.recv(65536):
        b.sendall(data)
    b.shutdown(socket.SHUT_RDWR)


listening = socket.socket(socket.AF_UNIX)
listening.bind(ours + '.new')
listening.listen()
os.rename(ours + '.new', ours)
while True:
    client, _ = listening.accept()
    server = socket.socket(socket.AF_UNIX)
    server.connect(real)
    for f, x, y in (back, server, client), (forth, client, server):
        threading.Thread(target=f, args=(x, y), daemon=True).start()
