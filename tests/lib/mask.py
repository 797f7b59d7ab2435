#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""mask.py SERVER SOCKET OLD NEW: at SOCKET, the server that listens at SERVER, but
that its INFO says NEW (with escapes, "\\r\\n") in place of OLD."""
import os
import socket
import sys
import threading

real, ours, old, new = sys.argv[1:]
new = new.encode().decode('unicode_escape').encode()


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
            body = have[at + 2:at + 2 + size].replace(old.encode(), new)
            have = (have[:start] + b'$%d\r\n' % len(body) + body
                    + have[at + 2 + size:])
        b.sendall(have)
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
