#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""soak.py [--seconds N] [--rate R] [--keys K] REDLOCK WITNESS

Starts R short runs a second (200) on three servers for N seconds (7200), on K keys
(50), so that some have to wait, beside one holder and one waiter that live as long.
Prints 120 lines, one a minute, and one at the end: runs so far, and the memory of the
servers and of these two.

It stops, with status 1, once a run has ended with another status than 0, two runs have
held one key at once, or a fence did not increase (the command of each is
lib/witness.c). The status is 1, too, if anything needs more memory in the last sixth of
the time than in the second: servers 5 %, redlock and its guard 64 kB. The least of each
sixth counts: the histories of all keys take their next 4 kB at about the same time, so a
server has 200 kB more for a second in five."""
import argparse
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SERVERS = 3


def wait_until(what, seconds=20):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            sys.exit("soak: waited in vain")
        time.sleep(0.02)


class Server:
    def __init__(self, place):
        self.socket = place + ".sock"
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.socket,
             "--save", "", "--dir", os.path.dirname(place),
             # On a busy machine the log of slow requests grows to 180 kB, and each
             # command that is first used then takes a histogram of 24 kB.
             "--slowlog-max-len", "0", "--latency-tracking", "no"],
            stdout=subprocess.DEVNULL)
        wait_until(lambda: self.ask("ping") == "PONG")

    def ask(self, *words):
        """A busy server may refuse a connection."""
        for _ in range(500):
            said = subprocess.run(["redis-cli", "-s", self.socket, *words],
                                  capture_output=True, text=True).stdout.strip()
            if said:
                return said
            time.sleep(0.02)
        sys.exit("soak: a server does not answer")

    def memory(self):
        """kB, without what the allocator keeps, and the number of keys"""
        used = self.ask("eval", "return redis.call('info', 'memory')"
                        ":match('used_memory:(%d+)')", "0")
        return int(used) // 1024, int(self.ask("dbsize"))


def private(pid):
    """kB of memory that is no file's"""
    with open(f"/proc/{pid}/smaps_rollup") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith("Anonymous"))


def children(pid):
    return [int(p) for p in subprocess.run(
        ["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()]


class Soak:
    def __init__(self, args, place):
        self.args = args
        self.place = place
        self.servers = [Server(f"{place}/{i}") for i in range(SERVERS)]
        self.urls = [w for s in self.servers for w in ("-u", "unix://" + s.socket)]
        self.running = {}
        self.statuses = {}
        self.looks = []  # kB of the servers, kB of the clients; 120 and one at the end
        for i in range(args.keys):
            os.mkdir(f"{place}/k{i}")
        self.lasting = [self.redlock("-k", "kept", "-t", "30s", "--", "sleep", "1000000")]
        wait_until(lambda: self.servers[0].ask("exists", "kept") == "1")
        self.lasting.append(
            self.redlock("-k", "kept", "-t", "30s", "--", "true"))

    def redlock(self, *words):
        # the servers are new, and forgot nothing
        return subprocess.Popen([self.args.redlock, "-q", "--restart-guard", "off",
                                 *self.urls, *words], stdin=subprocess.DEVNULL)

    def begin(self, i):
        key = f"k{i * 7919 % self.args.keys}"
        run = self.redlock("-k", key, "-t", "30s", "--", self.args.witness,
                           f"{self.place}/{key}")
        self.running[run.pid] = run

    def reap(self):
        for pid, run in list(self.running.items()):
            if run.poll() is not None:
                self.statuses[run.returncode] = self.statuses.get(run.returncode, 0) + 1
                del self.running[pid]
                if run.returncode != 0:
                    print(f"{time.monotonic() - self.began:6.0f} s {run.args[-1]}: "
                          f"run {pid} ended with {run.returncode}", flush=True)

    def sizes(self):
        clients = []
        for run in self.lasting:
            if run.poll() is not None:
                sys.exit(f"soak: the holder or the waiter ended with {run.returncode}")
            clients += [private(run.pid)] + [private(p) for p in children(run.pid)[:1]]
        return [s.memory() for s in self.servers], clients

    def look(self):
        servers, clients = self.sizes()
        self.looks.append(([kb for kb, _ in servers], clients))
        print(f"{time.monotonic() - self.began:6.0f} s {sum(self.statuses.values()):8} runs, "
              f"{len(self.running)} under way; servers "
              + " ".join(f"{kb} kB ({keys} keys)" for kb, keys in servers)
              + "; holder and waiter " + " ".join(map(str, clients)) + " kB", flush=True)

    def go(self):
        began = self.began = time.monotonic()
        last = began + self.args.seconds
        next_look, i = began, 0
        while (now := time.monotonic()) < last:
            # What could not begin in time is left out, and so is what a busy machine
            # could not end: the rate is an upper bound.
            due = int((now - began) * self.args.rate)
            i = max(i, due - self.args.rate)
            while i < due and len(self.running) < self.args.rate // 2:
                self.begin(i)
                i += 1
            self.reap()
            if now >= next_look:
                self.look()
                next_look += self.args.seconds / 120
                if self.complaints():
                    break
            if set(self.statuses) - {0}:
                break
            time.sleep(0.005)
        end = time.monotonic() + 60
        while self.running and time.monotonic() < end:
            self.reap()
            time.sleep(0.02)
        self.look()
        self.took = time.monotonic() - began

    def least(self, first, last, what):
        return [min(kbs) for kbs in zip(*(look[what] for look in self.looks[first:last]))]

    def grown(self):
        """what needs more memory in the last sixth of the time than in the second"""
        servers = zip(self.least(20, 40, 0), self.least(100, 120, 0))
        clients = zip(self.least(20, 40, 1), self.least(100, 120, 1))
        return ([f"a server: {a} -> {b} kB" for a, b in servers if b > a * 1.05]
                + [f"a client: {a} -> {b} kB" for a, b in clients if b > a + 64])

    def complaints(self):
        """what the witnesses saw"""
        found = []
        for name in glob.glob(self.place + "/k*/errors"):
            with open(name) as f:
                found += f.readlines()
        return found

    def end(self):
        for process in self.lasting + list(self.running.values()):
            process.send_signal(signal.SIGTERM)
        for process in self.lasting:
            process.wait()
        for server in self.servers:
            server.process.kill()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=7200)
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--keys", type=int, default=50)
    parser.add_argument("redlock", type=os.path.abspath)
    parser.add_argument("witness", type=os.path.abspath)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    place = tempfile.mkdtemp(prefix="redlock-soak.")
    soak = Soak(args, place)
    try:
        soak.go()
        if soak.running:
            print(f"soak: {len(soak.running)} runs are not over")
        complaints = soak.complaints()
    finally:
        soak.end()
        shutil.rmtree(place)
    grown = soak.grown()
    for line in grown:
        print("soak: grown:", line)
    for line in complaints:
        print("soak:", line, end="")
    print("prove: %d runs in %d s, statuses %s" % (
        sum(soak.statuses.values()), soak.took,
        " ".join(f"{k}: {v}" for k, v in sorted(soak.statuses.items()))))
    return bool(grown or complaints or soak.running or
                set(soak.statuses) != {0})


if __name__ == "__main__":
    sys.exit(main())
