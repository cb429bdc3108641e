"""A client of a Python package, driven by lines: `src/lib.rs` has the protocol.

    python python_client.py redis-py|pottery|python-redis-lock|aioredlock URL...
"""

import asyncio
import json
import logging
import math
import os
import random
import sys
import threading
import time
import uuid

# pottery logs each error that it raises.
logging.disable(logging.CRITICAL)


class Refused(Exception):
    """The client said no."""


class RedisPy:
    """redis-py's Lock, on one server."""

    def __init__(self, urls):
        import redis
        from redis.exceptions import LockError

        (url,) = urls
        self.redis = redis.Redis.from_url(url)
        self.refusals = (LockError,)
        self.lock = None

    def acquire(self, key, ttl, waits):
        self.lock = self.redis.lock(key, timeout=ttl / 1000)
        return self.lock.acquire(blocking=waits)

    def extend(self, ttl):
        self.lock.extend(ttl / 1000, replace_ttl=True)

    def release(self):
        self.lock.release()


class Pottery:
    """pottery's Redlock, on any number of servers."""

    def __init__(self, urls):
        import pottery
        import redis

        self.masters = {redis.Redis.from_url(url) for url in urls}
        self.redlock = pottery.Redlock
        self.refusals = (pottery.ExtendUnlockedLock, pottery.ReleaseUnlockedLock)
        self.lock = None

    def acquire(self, key, ttl, waits):
        self.lock = self.redlock(key=key, masters=self.masters, auto_release_time=ttl / 1000)
        return self.lock.acquire(blocking=waits)

    def extend(self, ttl):
        self.lock.auto_release_time = ttl / 1000
        self.lock.extend()

    def release(self):
        self.lock.release()


class PythonRedisLock:
    """python-redis-lock, on one server. Its times are whole seconds."""

    def __init__(self, urls):
        import redis
        import redis_lock

        (url,) = urls
        self.redis = redis.StrictRedis.from_url(url)
        self.redis_lock = redis_lock
        self.refusals = (redis_lock.NotAcquired,)
        self.lock = None

    def acquire(self, key, ttl, waits):
        self.lock = self.redis_lock.Lock(self.redis, key, expire=math.ceil(ttl / 1000))
        return self.lock.acquire(blocking=waits)

    def extend(self, ttl):
        self.lock.extend(expire=math.ceil(ttl / 1000))

    def release(self):
        self.lock.release()


class Aioredlock:
    """aioredlock, on any number of servers."""

    def __init__(self, urls):
        import aioredlock

        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.once = aioredlock.Aioredlock(urls, retry_count=1)
        self.waiting = aioredlock.Aioredlock(urls, retry_count=1_000_000)
        self.refusals = (aioredlock.LockError,)
        self.manager = self.once
        self.lock = None

    def acquire(self, key, ttl, waits):
        self.manager = self.waiting if waits else self.once
        self.lock = self.loop.run_until_complete(self.manager.lock(key, lock_timeout=ttl / 1000))
        return True

    def extend(self, ttl):
        self.loop.run_until_complete(self.manager.extend(self.lock, lock_timeout=ttl / 1000))

    def release(self):
        self.loop.run_until_complete(self.manager.unlock(self.lock))


CLIENTS = {
    "redis-py": RedisPy,
    "pottery": Pottery,
    "python-redis-lock": PythonRedisLock,
    "aioredlock": Aioredlock,
}


def contend(client, key, ttl, ms, journal):
    log = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    end = time.monotonic() + ms / 1000
    turns = 0
    while time.monotonic() < end:
        # A client that waits forever would wait longer than the test.
        try:
            has_it = client.acquire(key, ttl, False)
        except client.refusals:
            has_it = False
        if not has_it:
            time.sleep(random.uniform(0.1, 0.2))
            continue
        id = uuid.uuid4()
        os.write(log, f"enter {id}\n".encode())
        time.sleep(0.002)
        os.write(log, f"leave {id}\n".encode())
        turns += 1
        client.release()
    os.close(log)
    return turns


def measure(key, own, count, end):
    """Each caller is a thread with a client of its own."""
    while len(callers) < count:
        callers.append(CLIENTS[sys.argv[1]](sys.argv[2:]))
    calls, failures = [], []

    def call(caller, client):
        name = f"{key}:{caller}" if own else key
        while (asked := time.monotonic_ns()) < end:
            try:
                client.acquire(name, 10_000, True)
                acquired = time.monotonic_ns()
                time.sleep(0)
                releasing = time.monotonic_ns()
                client.release()
                calls.append((caller, asked, acquired, releasing, time.monotonic_ns()))
            except Exception as error:
                failures.append(f"{type(error).__name__}: {error}")
                time.sleep(0.01)

    threads = [threading.Thread(target=call, args=it) for it in enumerate(callers[:count])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first = failures[0] if failures else None
    return json.dumps({"calls": calls, "failures": len(failures), "first_failure": first})


callers = []


def run(client, command, values):
    if command in ("try", "hold"):
        key, ttl = values
        if not client.acquire(key, int(ttl), command == "hold"):
            raise Refused("not acquired")
    elif command == "extend":
        client.extend(int(values[0]))
    elif command == "release":
        client.release()
    elif command == "contend":
        key, ttl, ms, journal = values
        return contend(client, key, int(ttl), int(ms), journal)
    elif command == "measure":
        key, own, count, end = values
        return measure(key, own == "own", int(count), int(end))
    else:
        raise ValueError(command)
    return ""


def main():
    client = CLIENTS[sys.argv[1]](sys.argv[2:])
    for line in sys.stdin:
        command, *values = line.split()
        try:
            answer = f"ok {run(client, command, values)}"
        except (Refused, *client.refusals) as refusal:
            answer = f"refused {type(refusal).__name__}: {refusal}"
        except Exception as error:
            answer = f"error {type(error).__name__}: {error}"
        print(answer.replace("\n", " "), flush=True)


main()
