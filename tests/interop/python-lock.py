# SPDX-License-Identifier: MIT
"""A program that locks with redis-py, Debian's python3-redis.

  /usr/bin/python3 python-lock.py SOCKET KEY TTL_MS VERB...

Verbs, exit statuses and RETRY_MS are those of client.cjs.
"""

import os
import random
import subprocess
import sys
import time

import redis

LIMIT_S = 20
BUSY = 75


def main():
    socket, key, ttl, verb, *args = sys.argv[1:]
    server = redis.Redis(unix_socket_path=socket)
    options = {}
    if "RETRY_MS" in os.environ:
        options["sleep"] = int(os.environ["RETRY_MS"]) / 1000
    lock = server.lock(
        key, timeout=int(ttl) / 1000, blocking_timeout=LIMIT_S, **options
    )

    def acquire(**how):
        if not lock.acquire(**how):
            print("python-lock: busy", file=sys.stderr)
            sys.exit(BUSY)

    if verb == "hold":
        started, end = args
        acquire()
        with open(started + ".new", "wb") as file:
            file.write(lock.local.token)
        os.rename(started + ".new", started)
        while not os.path.exists(end):
            time.sleep(0.01)
        lock.release()
    elif verb == "try":
        acquire(blocking=False)
        lock.release()
    elif verb == "count":
        folder, n = args
        work = os.path.join(os.path.dirname(__file__), "work.sh")
        for _ in range(int(n)):
            acquire()
            subprocess.run([work, folder, "python-lock"], check=True)
            lock.release()
            # or it would have it again before others look
            time.sleep(random.random() / 10)
    else:
        sys.exit("no such verb: " + verb)


main()
