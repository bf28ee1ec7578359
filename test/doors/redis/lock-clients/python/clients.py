"""What one user does with each client: `take`, `extend` if there is one, `release`.

Each answers with whether it came about, and fails if that is not known. Several addresses are the nodes of one
cluster.
"""

import asyncio

import redis
import redis.asyncio
import redis.asyncio.retry
import redis.retry
from redis.backoff import ConstantBackoff
from redis.exceptions import LockError

MASTER = "mymaster"
TIMEOUT_S = 5
SENTINEL_TIMEOUT_S = 1
# By default it waits for seconds before it connects again.
RETRIES = 3
BACKOFF = ConstantBackoff(0.1)


def connect(addresses, module=redis):
    """Asks the nodes as sentinels if there are several. The connections of both modules are called alike."""
    if len(addresses) == 1:
        [(host, port)] = addresses
        return module.Redis(host=host, port=port, socket_timeout=TIMEOUT_S)
    retry = module.retry.Retry(BACKOFF, RETRIES)
    sentinel = module.sentinel.Sentinel(addresses, socket_timeout=SENTINEL_TIMEOUT_S, retry=retry)
    return sentinel.master_for(MASTER, socket_timeout=TIMEOUT_S, retry=retry)


class RedisPy:
    def __init__(self, addresses, key, ttl_s):
        self.ttl_s = ttl_s
        self.lock = self.make(addresses, key)

    def make(self, addresses, key):
        return connect(addresses).lock(key, timeout=self.ttl_s)

    def take(self):
        return self.run(self.lock.acquire, blocking=False)

    def extend(self):
        return self.run(self.lock.extend, self.ttl_s, replace_ttl=True)

    def release(self):
        return self.run(self.lock.release)

    def run(self, call, *args, **options):
        try:
            # A release answers None.
            return call(*args, **options) in (True, None)
        except LockError:
            return False


class DjangoRedis(RedisPy):
    def make(self, addresses, key):
        from django.conf import settings
        from django.core.cache import cache

        if not settings.configured:
            settings.configure(CACHES={"default": self.settings(addresses)}, **self.factory(addresses))
        return cache.lock(key, timeout=self.ttl_s)

    def settings(self, addresses):
        backend = {"BACKEND": "django_redis.cache.RedisCache"}
        if len(addresses) == 1:
            [(host, port)] = addresses
            return {**backend, "LOCATION": f"redis://{host}:{port}/0"}
        retry = redis.retry.Retry(BACKOFF, RETRIES)
        options = {
            "CLIENT_CLASS": "django_redis.client.SentinelClient",
            "SENTINELS": addresses,
            "SENTINEL_KWARGS": {"socket_timeout": SENTINEL_TIMEOUT_S, "retry": retry},
            "CONNECTION_POOL_KWARGS": {"retry": retry},
        }
        return {**backend, "LOCATION": f"redis://{MASTER}/0", "OPTIONS": options}

    def factory(self, addresses):
        if len(addresses) == 1:
            return {}
        return {"DJANGO_REDIS_CONNECTION_FACTORY": "django_redis.pool.SentinelConnectionFactory"}


class RedisPyAsyncio(RedisPy):
    loop = asyncio.new_event_loop()

    def make(self, addresses, key):
        return connect(addresses, redis.asyncio).lock(key, timeout=self.ttl_s)

    def run(self, call, *args, **options):
        async def answer():
            return await call(*args, **options)

        return super().run(lambda: self.loop.run_until_complete(answer()))


class Pottery:
    def __init__(self, addresses, key, ttl_s):
        from pottery import Redlock

        masters = {connect(addresses)}
        self.lock = Redlock(key=key, masters=masters, auto_release_time=ttl_s, raise_on_redis_errors=True)

    def take(self):
        return self.lock.acquire(blocking=False)

    def extend(self):
        from pottery import ExtendUnlockedLock

        return self.is_mine(self.lock.extend, ExtendUnlockedLock)

    def release(self):
        from pottery import ReleaseUnlockedLock

        return self.is_mine(self.lock.release, ReleaseUnlockedLock)

    def is_mine(self, call, complaint):
        try:
            call()
            return True
        except complaint:
            return False


class PythonRedisLock:
    def __init__(self, addresses, key, ttl_s):
        import redis_lock

        self.complaint = redis_lock.NotAcquired
        self.lock = redis_lock.Lock(connect(addresses), key, expire=ttl_s)

    def take(self):
        return self.lock.acquire(blocking=False)

    def extend(self):
        return self.is_mine(self.lock.extend)

    def release(self):
        return self.is_mine(self.lock.release)

    def is_mine(self, call):
        try:
            call()
            return True
        except self.complaint:
            return False


class CeleryOnce:
    """Anybody may release the lock of anybody."""

    def __init__(self, addresses, key, ttl_s):
        from celery_once.backends.redis import Redis
        from celery_once.tasks import AlreadyQueued

        [(host, port)] = addresses
        self.key, self.ttl_s, self.complaint = key, ttl_s, AlreadyQueued
        self.backend = Redis({"url": f"redis://{host}:{port}/0"})

    def take(self):
        try:
            self.backend.raise_or_lock(self.key, self.ttl_s)
            return True
        except self.complaint:
            return False

    def release(self):
        return self.backend.clear_lock(self.key) == 1


CLIENTS = {
    "redis-py": RedisPy,
    "redis-py, asyncio": RedisPyAsyncio,
    "pottery": Pottery,
    "django-redis": DjangoRedis,
    "python-redis-lock": PythonRedisLock,
    "celery-once": CeleryOnce,
}
