#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""hostile.py [--runs N] [--seed S] [--jobs J] [--memory MB] REDLOCK

Runs every verb of REDLOCK, best built with sanitizers, against real servers whose
replies are changed on their way: bytes, numbers, whole parts, the order, the end.
Each run must end by itself within SECONDS, with a status from the manual, without a
report of a sanitizer, within the memory limit, and without writing anything that
controls a terminal.

`--seed S+I --runs 1` repeats run I of seed S, as far as two concurrent programs can
be repeated. --record DIR writes the servers' unchanged replies to DIR: inputs for
tests/fuzz."""
import argparse
import asyncio
import os
import pty
import random
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import fcntl
import termios
from concurrent.futures import ThreadPoolExecutor

SECONDS = 20  # the longest time-out of a run is 2 s; the machine may be busy
STATUSES = {0, 1, 64, 69, 75, 77, 78, 124, 125, 126, 127}

# ---- replies ----


class Short(Exception):
    """There is more to come."""


def parse(data, at=0):
    """The value at `at`, and where it ends: (kind, payload)."""
    end = data.find(b'\r\n', at)
    if end < 0:
        raise Short
    kind, text, at = data[at:at + 1], data[at + 1:end], end + 2
    if kind == b'*':
        if int(text) < 0:
            return (b'*', None), at
        items = []
        for _ in range(int(text)):
            item, at = parse(data, at)
            items.append(item)
        return (b'*', items), at
    if kind == b'$' and int(text) >= 0:
        if len(data) < at + int(text) + 2:
            raise Short
        return (b'$', data[at:at + int(text)]), at + int(text) + 2
    return (kind, None if kind == b'$' else text), at


def encode(value):
    kind, what = value
    if kind == b'raw':
        return what
    if kind == b'*' and what is not None:
        return b'*%d\r\n' % len(what) + b''.join(map(encode, what))
    if kind == b'$' and what is not None:
        return b'$%d\r\n%s\r\n' % (len(what), what)
    return kind + (b'-1' if what is None else what) + b'\r\n'


NUMBERS = [b'0', b'1', b'-1', b'-2', b'9', b'100', b'32767', b'32768', b'65536',
           b'2147483647', b'2147483648', b'-2147483648', b'4294967296',
           b'1500000000000000000', b'9223372036854775807',
           b'-9223372036854775808', b'18446744073709551616', b'1e18', b'nan',
           b'0x10', b'', b' 1', b'1.5', b'00000000000000000000000001',
           b'9007199254740993', b'253402300800000', b'1000000000000000']
EVIL = [b'', b'\0', b'\x1b]0;evil\x07', b'\x9b31m', b'\xc2\x9b2J', b'%s%n%x',
        b'\xe2\x80\xae', b'\xff' * 200, b'a' * 70000, b'\n', b'token \n',
        b'\r\n', b'"', b"'", b'<&>', b'{', b'}', b'../', b'granted', b'busy',
        b'yes', b'no', b'healed', b'loss', b'guarded', b'woken', b'string',
        b'hash', b'stream', b'-', b'\xf0\x9f\x94\x92' * 50, b'1 2 3',
        b'ttl 1\nsince 9223372036854775807\nhost \x1b]0;evil\x07\n',
        b'x 1 1 \nhost a\npid 99999999999999999999\n']
ERRORS = [b'ERR', b'ERR unknown command', b'NOSCRIPT No matching script.',
          b'MOVED 1 127.0.0.1:1', b'ASK 1 :1', b'MOVED 1 \x1b]0;evil\x07:1',
          b'MOVED -1 a:99999', b'ASK', b'READONLY You can not write',
          b'LOADING', b'BUSY', b'NOAUTH', b'WRONGPASS', b'NOPERM no',
          b'OOM command', b'MASTERDOWN', b'CLUSTERDOWN', b'TRYAGAIN',
          b'WRONGTYPE', b'MISCONF', b'NOREPLICAS', b'EXECABORT',
          b'ERR Error running script (call to f_0): @user_script:1: ',
          b'ERR ACL failure in script: User x', b'', b'\x1b]0;evil\x07',
          b'ERR ' + b'x' * 5000, b'UNBLOCKED', b'ERR max number of clients']
TEARS = [b'*2147483647\r\n', b'$536870912\r\n', b'*-5\r\n', b'$-5\r\n',
         b'*1\r\n' * 2000, b'%1\r\n+a\r\n+b\r\n', b'~1\r\n+a\r\n', b'>1\r\n+a\r\n',
         b'#t\r\n', b',1.5\r\n', b'_\r\n', b'(123456789012345678901\r\n',
         b'!3\r\nERR\r\n', b'=7\r\ntxt:abc\r\n', b'\x15\x03\x01\0\x02\x02\x50',
         b'HTTP/1.1 400 Bad Request\r\n\r\n', b'\0\0\0\0', b'+\r\n', b':\r\n',
         b'$3\r\nab\r\n', b'*0\r\n', b'*-1\r\n', b'$-1\r\n']


def places(value, at=()):
    yield at
    if value[0] == b'*' and value[1]:
        for i, item in enumerate(value[1]):
            yield from places(item, at + (i,))


def change(r, value):
    """Another value in the place of this one."""
    kind, what = value
    case = r.randrange(12)
    numeric = isinstance(what, bytes) and re.match(rb'-?[0-9]', what)
    if case < 4 and numeric:
        return kind if kind == b':' else b'$', r.choice(NUMBERS)
    if case < 2:
        return b'$', r.choice(EVIL)
    if case == 2:
        return b':', r.choice(NUMBERS)
    if case == 3:
        return b'-', r.choice(ERRORS)
    if case == 4:
        return b'$', None
    if case == 5:
        return b'*', [] if r.random() < .5 else None
    if case == 6:
        return b'raw', r.choice(TEARS)
    if case == 7:
        return b'*', [value] * r.choice([1, 2, 17, 300])
    if kind == b'*' and what:
        items = list(what)
        i = r.randrange(len(items))
        if case == 8:
            del items[i]
        elif case == 9:
            items[i:i] = [items[i]] * r.choice([1, 2, 30, 2000])
        elif case == 10:
            r.shuffle(items)
        else:
            items = items[:i]
        return kind, items
    if kind == b'$' and what is not None:
        text = bytearray(what)
        for _ in range(r.randrange(1, 4)):
            i = r.randrange(len(text) + 1)
            j = min(len(text), i + r.randrange(4))
            text[i:j] = r.choice([b'', bytes([r.randrange(256)]),
                                  r.choice(EVIL)[:100], r.choice(NUMBERS),
                                  b' ', b'\n'])
        return kind, bytes(text)
    return b'+', r.choice(EVIL).replace(b'\r\n', b'')


def put(value, at, new):
    if not at:
        return new
    items = list(value[1])
    items[at[0]] = put(items[at[0]], at[1:], new)
    return value[0], items


def mutate(r, value):
    for _ in range(r.choice([1, 1, 1, 2, 5])):
        at = r.choice(list(places(value)))
        old = value
        for i in at:
            old = old[1][i]
        value = put(value, at, change(r, old))
        if value[0] == b'raw':
            break
    return encode(value)


def tear(r, data):
    """The same on the level of bytes."""
    data = bytearray(data)
    for _ in range(r.randrange(1, 6)):
        i = r.randrange(len(data) + 1)
        j = min(len(data), i + r.choice([0, 1, 1, 2, 8]))
        data[i:j] = r.choice([b'', bytes([r.randrange(256)]), b'\r\n', b'$', b'*',
                              r.choice(NUMBERS), r.choice(TEARS)])
    return bytes(data)


# ---- the proxy ----


class Proxy:
    """At `path`, or a port of the loopback: what listens at `real`, changed."""

    def __init__(self, seed, real, record=None):
        self.seed, self.real, self.record = seed, real, record
        self.served = 0
        self.tasks = set()

    async def listen(self, path=None):
        if path:
            self.server = await asyncio.start_unix_server(self.serve, path)
            return path
        self.server = await asyncio.start_server(self.serve, '127.0.0.1', 0)
        return self.server.sockets[0].getsockname()[1]

    async def close(self):
        self.server.close()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def serve(self, reader, writer):
        self.served += 1
        r = random.Random(self.seed * 1000 + self.served)
        self.tasks.add(asyncio.current_task())
        upward = None
        try:
            if isinstance(self.real, int):
                there = await asyncio.open_connection('127.0.0.1', self.real)
            else:
                there = await asyncio.open_unix_connection(self.real)
            upward = asyncio.ensure_future(self.copy(reader, there[1]))
            await self.answer(r, there[0], writer)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            if upward:
                upward.cancel()
                there[1].close()
            writer.close()
            self.tasks.discard(asyncio.current_task())

    @staticmethod
    async def copy(reader, writer):
        try:
            while True:
                data = await reader.read(65536)
                if not data:
                    break
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.close()

    async def answer(self, r, reader, writer):
        # how much of what is said is changed
        share = r.choice([0, .05, .2, .2, .5, 1])
        data = b''
        while True:
            more = await reader.read(65536)
            if not more:
                return
            data += more
            at = 0
            while True:
                try:
                    value, end = parse(data, at)
                except Short:
                    break
                whole, at = data[at:end], end
                if self.record:
                    self.keep(whole)
                if r.random() < share and not self.record:
                    if not await self.spoil(r, value, whole, writer):
                        return
                else:
                    writer.write(whole)
                await writer.drain()
            data = data[at:]

    async def spoil(self, r, value, whole, writer):
        """False: that was the end of the connection."""
        case = r.randrange(20)
        if case < 12:
            writer.write(mutate(r, value))
        elif case < 14:
            writer.write(tear(r, whole))
        elif case == 14:
            writer.write(whole[:r.randrange(len(whole) + 1)])
            await writer.drain()
            return False
        elif case == 15:
            writer.write(whole * r.choice([2, 2, 40]))
        elif case == 16:
            await asyncio.sleep(r.choice([.01, .1, .5]))
            writer.write(whole)
        elif case == 17:
            for byte in whole[:200]:
                writer.write(bytes([byte]))
                await writer.drain()
            writer.write(whole[200:])
        elif case == 18 and r.random() < .2:
            # without end, as long as somebody reads it
            head = r.choice([b'+', b'$99999999\r\n', b'*99999\r\n', b'-ERR ',
                             b'*2\r\n*260000\r\n'])
            piece = r.choice([b'a', b':1\r\n', b'$1\r\na\r\n', b'*0\r\n'])
            writer.write(head)
            for _ in range(400):
                writer.write(piece * (65536 // len(piece)))
                await writer.drain()
        # else: nothing at all
        return True

    def keep(self, whole):
        name = '%016x' % (hash(re.sub(rb'[0-9a-f]{2,}', b'0', whole)) & (2**64 - 1))
        path = os.path.join(self.record, name)
        if len(whole) < 4000 and not os.path.exists(path):
            with open(path, 'wb') as f:
                f.write(whole)


# ---- the world ----


class World:
    """Servers, with locks that are held and waited for."""

    def __init__(self, redlock, folder):
        self.redlock, self.dir = redlock, folder
        self.mine = []
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(('REDLOCK', 'REDISCLI'))}
        self.env.update(HOME=folder, XDG_CONFIG_HOME=folder, TERM='xterm',
                        LC_ALL='C.UTF-8', LOGNAME='joe')
        self.folded = threading.Lock()

    def start(self, *words, **more):
        self.mine.append(subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=self.env, **more))

    def redis(self, name, *options):
        path = f'{self.dir}/{name}.sock'
        self.start('redis-server', '--port', '0', '--unixsocket', path,
                   '--save', '', '--dir', self.dir, *options)
        return path

    def cli(self, name, *words):
        return subprocess.run(
            ['redis-cli', '-s', f'{self.dir}/{name}.sock', *words], check=False,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()

    @staticmethod
    def wait_until(what):
        end = time.monotonic() + 20
        while not what():
            if time.monotonic() > end:
                sys.exit('hostile.py: the servers do not come up')
            time.sleep(.02)

    def free_port(self):
        import socket
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            return s.getsockname()[1]

    def build(self):
        for name in 'abc':
            self.redis(name)
        self.cluster_port, self.master_port, self.sentinel_port = (
            self.free_port() for _ in range(3))
        self.redis('cl', '--port', str(self.cluster_port), '--bind', '127.0.0.1',
                   '--cluster-enabled', 'yes', '--cluster-config-file', 'cl.nodes',
                   '--cluster-port', str(self.free_port()))
        self.redis('ms', '--port', str(self.master_port), '--bind', '127.0.0.1')
        with open(f'{self.dir}/sentinel.conf', 'w', encoding='ascii') as f:
            f.write(f'port {self.sentinel_port}\nbind 127.0.0.1\ndir {self.dir}\n'
                    f'unixsocket {self.dir}/se.sock\n'
                    f'sentinel monitor g 127.0.0.1 {self.master_port} 1\n')
        self.start('redis-server', f'{self.dir}/sentinel.conf', '--sentinel')
        for name in ('a', 'b', 'c', 'cl', 'ms', 'se'):
            self.wait_until(lambda n=name: 'PONG' in self.cli(n, 'ping'))
        self.cli('cl', 'cluster', 'addslotsrange', '0', '16383')
        self.wait_until(lambda: 'state:ok' in self.cli('cl', 'cluster', 'info'))
        self.url = f'unix://{self.dir}/a.sock'
        # what there is to be seen: holds, waiters, readers, slots, a past
        for i in range(3):
            subprocess.run([self.redlock, '-u', self.url, '-k', 'job', '--reason',
                            f'past {i}', '--', 'sh', '-c', f'exit {i}'],
                           env=self.env, stderr=subprocess.DEVNULL, check=False)
        for words in (['-k', 'job', '--reason', 'nightly'], ['-k', 'job'],
                      ['-k', 'job', '-s'], ['-k', 'rd', '-s'], ['-k', 'rd', '-s'],
                      ['-k', 'rd'], ['-k', 'sem', '-N', '3'],
                      ['-k', 'sem', '-N', '3'], ['-k', 'n\x1b\xff', '-t', '1h']):
            self.start(self.redlock, '-q', '-u', self.url, *words, '--',
                       'sleep', '100000')
            time.sleep(.1)
        self.cli('a', 'set', 'plain', 'theirs')
        self.wait_until(lambda: self.cli('a', 'exists', 'job').strip() == '1')

    def close(self):
        for p in reversed(self.mine):
            p.terminate()
        for p in self.mine:
            try:
                p.wait(10)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()


def words_of(r, world):
    """The arguments of a run but -u, and whether it wants a terminal."""
    key = r.choice(['job', 'rd', 'sem', 'plain', 'none', 'n\x1b\xff'])
    mine = f'k{r.randrange(20)}'
    node = ['--node-timeout', r.choice(['50ms', '200ms'])]
    loud = r.choice([[], [], ['-q'], ['-v'], ['-vv'], ['--log-format', 'json']])
    json = r.choice([[], ['--json']])
    case = r.randrange(12)
    if case < 3:
        return [*loud, '-k', mine, '-w', r.choice(['100ms', '400ms']), '-t',
                r.choice(['300ms', '1s']), *node,
                *r.choice([[], [], ['-s'], ['-N', '3'], ['-k', key],
                           ['--once-per', '50ms'], ['--min-hold', '50ms'],
                           ['--revision', str(r.randrange(9))],
                           ['--once-for', r.choice(['v1', 'v2'])],
                           ['--max-renewals', '1'], ['--on-unavailable', 'run'],
                           ['--wait-replicas', '1'], ['--supersede'], ['--replace'],
                           ['--priority', 'high'],
                           ['--max-waiters', '1'], ['--restart-guard', '300ms']]),
                '--', *r.choice([['true'], ['sleep', '.05'], ['sleep', '.4']])], False
    if case == 3:
        return ['inspect', *json, *loud, *node, key], False
    if case == 4:
        return ['list', *json, *loud, *node,
                *r.choice([[], ['*'], ['--held'], ['--waiting']])], False
    if case == 5:
        return ['wait', *loud, *node, '-w', '200ms', key], False
    if case == 6:
        return ['force-release', *node, '--confirm', mine, '--grace', '100ms',
                *r.choice([[], ['--now'], ['--foreign']]), mine], False
    if case == 7:
        return ['history', *r.choice([[], ['--json'], ['--svg'],
                                      ['--since', '1h']]), *node, key], False
    if case == 8:
        return ['top', *node, *r.choice([[], ['*']])], True
    if case == 9:
        return ['doctor', *json, *node, *r.choice([[], [key], [key, mine]])], False
    if case == 10:
        return ['lock', '-w', '200ms', '-t', '500ms', *node,
                *r.choice([[], ['--export']]), mine], False
    return [r.choice(['unlock', 'extend']), *node, '--token',
            r.choice(['x', '00000000-0000-4000-8000-000000000000']),
            r.choice([key, mine])], False


class Run:
    """One of many."""

    def __init__(self, world, loop, seed, options):
        self.world, self.loop, self.seed = world, loop, seed
        self.options = options
        self.r = random.Random(seed)
        self.dir = tempfile.mkdtemp(prefix=f'run{seed}.', dir=world.dir)
        self.proxies = []
        self.wrong = []

    def proxy(self, real, unix=True):
        p = Proxy(self.seed * 10 + len(self.proxies), real, self.options.record)
        path = f'{self.dir}/{len(self.proxies)}' if unix else None
        self.proxies.append(p)
        return asyncio.run_coroutine_threadsafe(
            p.listen(path), self.loop).result(30)

    def urls(self):
        w, case = self.world, self.r.randrange(10)
        if case < 6:
            return [f'unix://{self.proxy(w.dir + "/a.sock")}']
        if case < 8:
            which = [f'{w.dir}/{n}.sock' for n in 'abc']
            bad = self.r.choice([1, 1, 2, 3])
            return ['unix://' + (self.proxy(s) if i < bad else s)
                    for i, s in enumerate(which)]
        if case == 8:
            return [f'redis-cluster://127.0.0.1:{self.proxy(w.cluster_port, False)}']
        return ['redis-sentinel://127.0.0.1:'
                f'{self.proxy(w.sentinel_port, False)}/g']

    def go(self):
        words, terminal = words_of(self.r, self.world)
        urls = self.urls()
        self.words = [self.world.redlock]
        if not words[0].startswith('-'):
            self.words.append(words.pop(0))
        for u in urls:
            self.words += ['-u', u]
        self.words += words
        env = dict(self.world.env)
        env['ASAN_OPTIONS'] = (f'log_path={self.dir}/asan:exitcode=99:'
                               'quarantine_size_mb=1:detect_leaks=0:'
                               'malloc_context_size=8')
        env['UBSAN_OPTIONS'] = f'log_path={self.dir}/asan:print_stacktrace=1:halt_on_error=1:exitcode=99'
        began = time.monotonic()
        try:
            (self.on_terminal if terminal else self.on_files)(env)
            self.seconds = time.monotonic() - began
            self.judge(terminal)
        finally:
            for p in self.proxies:
                asyncio.run_coroutine_threadsafe(p.close(), self.loop).result(30)
        if not self.wrong:
            shutil.rmtree(self.dir, ignore_errors=True)
        return self

    def ended(self, pid):
        """Waits, at most for SECONDS."""
        late = threading.Event()

        def kill():
            late.set()
            os.kill(pid, signal.SIGABRT)
        timer = threading.Timer(SECONDS, kill)
        timer.start()
        # (what wait4(2) tells is the most of Python's and its own)
        self.megabytes = 0
        end = os.pidfd_open(pid)
        while not select.select([end], [], [], .02)[0]:
            self.megabytes = self.memory(pid) or self.megabytes
        os.close(end)
        _, status = os.waitpid(pid, 0)
        timer.cancel()
        self.status = os.waitstatus_to_exitcode(status)
        if late.is_set():
            self.wrong.append(f'did not end within {SECONDS} s')

    def memory(self, pid):
        """The most that it has had, in MB; 0: it is not there."""
        try:
            if os.readlink(f'/proc/{pid}/exe') != self.world.redlock:
                return 0
            with open(f'/proc/{pid}/status', encoding='latin-1') as f:
                return int(re.search(r'VmHWM:\s*(\d+)', f.read())[1]) / 1024
        except (OSError, TypeError):
            return 0

    def on_files(self, env):
        with open(f'{self.dir}/out', 'wb') as out, \
                open(f'{self.dir}/err', 'wb') as err:
            p = subprocess.Popen([os.fsencode(w) if isinstance(w, bytes) else
                                  w.encode('latin-1') for w in self.words],
                                 stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                 env=env, start_new_session=True)
            self.ended(p.pid)
            p.returncode = self.status  # it is not to wait for it

    def on_terminal(self, env):
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(self.words[0], self.words, env)
        rows, columns = self.r.choice([(24, 80), (50, 200), (3, 20), (1, 1)])
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
        keys = [self.r.choice(['j', 'k', 's', 'p', '?', '/', 'a', '\r', '\x1b[B',
                               '\x1b[5~', ' ', 'r', '\x1b'])
                for _ in range(self.r.randrange(6))]
        said, pressed = b'', time.monotonic() + self.r.choice([.1, .4, 1.2])
        done = threading.Event()
        waiter = threading.Thread(target=lambda: (self.ended(pid), done.set()))
        waiter.start()
        while not done.is_set():
            if select.select([fd], [], [], .03)[0]:
                try:
                    said = (said + os.read(fd, 65536))[-2000000:]
                except OSError:
                    done.wait(.01)
            if time.monotonic() > pressed:
                # (what is pressed before it reads keys is lost)
                key = keys.pop(0) if keys else self.r.choice(['q', '\x1b', '\3'])
                try:
                    os.write(fd, key.encode())
                except OSError:
                    pass
                pressed = time.monotonic() + (.03 if keys else .2)
        waiter.join()
        os.close(fd)
        with open(f'{self.dir}/out', 'wb') as out:
            out.write(said)
        with open(f'{self.dir}/err', 'wb') as err:
            pass

    def outlived(self):
        """The guard, which kills who had no time until the lease ran out, has
        the last word."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            with open(f'{self.dir}/err', 'rb') as f:
                if b'stopped until its lease ran out' in f.read():
                    return True
            time.sleep(.05)
        return False

    def judge(self, terminal):
        out, err = (open(f'{self.dir}/{n}', 'rb').read() for n in ('out', 'err'))
        for name in os.listdir(self.dir):
            if name.startswith('asan'):
                text = open(f'{self.dir}/{name}', errors='replace').read()
                found = re.search(r'(ERROR: |runtime error: ).*', text)
                self.wrong.append(found[0] if found else 'a sanitizer: ' + name)
        found = re.search(rb'runtime error: .*', err + out)
        if found:
            self.wrong.append(found[0].decode('latin-1'))
        if self.status not in STATUSES and not (
                self.status == -signal.SIGKILL and self.outlived()) and not (
                terminal and self.status in (130, -signal.SIGINT)):
            self.wrong.append(f'status {self.status}')
        if self.megabytes > self.options.memory:
            self.wrong.append(f'{self.megabytes:.0f} MB')
        if b'\x1b]' in out + err or b'evil\x07' in out + err:
            self.wrong.append('steers the terminal')
        if not terminal and re.search(rb'[\0-\x08\x0b-\x1f\x7f]', out + err):
            self.wrong.append('writes control characters')


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('--runs', type=int, default=1000)
    p.add_argument('--seed', type=int, default=int(time.time()))
    p.add_argument('--jobs', type=int, default=4 * os.cpu_count())
    p.add_argument('--memory', type=float, default=64)
    p.add_argument('--record')
    p.add_argument('redlock')
    options = p.parse_args()
    folder = tempfile.mkdtemp(prefix='hostile.')
    world = World(os.path.realpath(options.redlock), folder)
    print(f'seed {options.seed}', flush=True)
    loop = asyncio.new_event_loop()
    # a proxy that fails tests nothing
    loop.set_exception_handler(lambda _, c: (sys.stderr.write(
        f'{c.get("exception")!r} {c["message"]}\n'), os._exit(2)))
    threading.Thread(target=loop.run_forever, daemon=True).start()
    wrong, most, longest, seen, statuses = 0, 0, 0, 0, {}
    try:
        world.build()
        with ThreadPoolExecutor(options.jobs) as pool:
            for run in pool.map(lambda i: Run(world, loop, options.seed + i,
                                              options).go(), range(options.runs)):
                seen += 1
                most = max(most, run.megabytes)
                longest = max(longest, run.seconds)
                statuses[run.status] = statuses.get(run.status, 0) + 1
                if run.wrong:
                    wrong += 1
                    print(f'not ok {run.seed}: {"; ".join(run.wrong)}: '
                          f'{run.words[1:]} (see {run.dir})', flush=True)
                if seen % 1000 == 0:
                    print(f'{seen} runs, {wrong} wrong, {most:.0f} MB, '
                          f'{longest:.1f} s', flush=True)
    finally:
        world.close()
    told = ', '.join(f'{n} x {s}' for s, n in sorted(statuses.items()))
    print(f'{seen} runs, {wrong} wrong; at most {most:.0f} MB and {longest:.1f} s; '
          f'statuses: {told}')
    if not wrong:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(wrong > 0)


main()
