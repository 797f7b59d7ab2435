#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""fake.py ADDRESS FILE: a server that says what a test wants to hear.

ADDRESS is the path of a unix socket, or HOST:0; the port is then found in
FILE.port. FILE defines answer(words), which gets a request as a list of bytes
and returns what is said: bytes as they are, else a value for encode(), or None:
nothing at all; or a future of that. END closes the connection. opened(), if FILE has
it, is called for each connection. What FILE leaves to usual(words) is answered as by
an empty Redis. forward(path, words) returns what the real server
at that socket says, view(token) what src/lua/inspect.lua says of a lock that this
token holds."""
import asyncio
import os
import socket
import sys

END = object()


class Error(str):
    """An error reply."""


def encode(value):
    if isinstance(value, Error):
        return b'-%s\r\n' % value.encode('utf-8', 'surrogateescape')
    if isinstance(value, bool) or value is None:
        return b'$-1\r\n' if value is None else b':%d\r\n' % value
    if isinstance(value, int):
        return b':%d\r\n' % value
    if isinstance(value, (list, tuple)):
        return b'*%d\r\n' % len(value) + b''.join(map(encode, value))
    if isinstance(value, str):
        value = value.encode('utf-8', 'surrogateescape')
    return b'$%d\r\n%s\r\n' % (len(value), value)


def usual(words):
    name = words[0].upper()
    if name in (b'AUTH', b'SELECT', b'ASKING'):
        return b'+OK\r\n'
    if [name, words[1:2]] == [b'CLUSTER', [b'MYID']]:
        return 40 * '0'
    if name == b'PING':
        return b'+PONG\r\n'
    if name == b'SCAN':
        return ['0', []]
    if name == b'ROLE':
        return ['master', 0, []]
    if name == b'EVALSHA':
        return Error('NOSCRIPT No matching script.')
    return Error("ERR unknown command '%s'" % name.decode('latin-1'))


def view(token):
    return ['view', 1, 1000, -1, -1, ['string', token, 9],
            [[0, token, 1, 9, -1, '']],
            [[token, 0, 1009, 1, 1000, 9, '', '9 1 -\nhost web1\n', '']], [], 0, 0,
            -1, '', '', '', '']


def forward(path, words):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(b'*%d\r\n' % len(words) + b''.join(
            b'$%d\r\n%s\r\n' % (len(w), w) for w in words) +
            b'*1\r\n$4\r\nPING\r\n')
        said = b''
        while not said.endswith(b'+PONG\r\n'):
            said += s.recv(65536)
        return said[:-7]


async def read_request(reader):
    line = await reader.readline()
    if not line.startswith(b'*'):
        return None
    words = []
    for _ in range(int(line[1:])):
        size = int((await reader.readline())[1:])
        words.append((await reader.readexactly(size + 2))[:-2])
    return words


async def main(address, path):
    scope = {'usual': usual, 'Error': Error, 'END': END, 'encode': encode,
             'forward': forward, 'view': view}
    with open(path, encoding='utf-8') as f:
        exec(compile(f.read(), path, 'exec'), scope)

    async def serve(reader, writer):
        scope.get('opened', lambda: None)()
        try:
            while words := await read_request(reader):
                said = scope['answer'](words)
                if asyncio.isfuture(said):
                    said = await said
                if said is END:
                    break
                if said is not None:
                    writer.write(said if isinstance(said, bytes)
                                 else encode(said))
                    await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        writer.close()

    if '/' in address:
        # who waits for the name must not be refused before listen()
        server = await asyncio.start_unix_server(serve, address + '.new',
                                                 limit=1 << 24)
        os.rename(address + '.new', address)
    else:
        host, port = address.rsplit(':', 1)
        server = await asyncio.start_server(serve, host, int(port),
                                            limit=1 << 24, backlog=4096)
        scope['port'] = server.sockets[0].getsockname()[1]
        with open(path + '.new', 'w', encoding='utf-8') as f:
            f.write('%d' % scope['port'])
        os.rename(path + '.new', path + '.port')
    async with server:
        await server.serve_forever()


if __name__ == '__main__':
    asyncio.run(main(*sys.argv[1:3]))
