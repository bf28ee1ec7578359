<?php

/*
 * What one user does with each client: `take`, `extend` if there is one, `release`. Each answers whether it came
 * about, and fails if that is not known. Several addresses are the nodes of one cluster. The libraries are where
 * Debian puts them.
 */

declare(strict_types=1);

const EXTEND = <<<'LUA'
    if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
    return 0
    LUA;
const RELEASE = <<<'LUA'
    if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
    return 0
    LUA;
const TIMEOUT_S = 5.0;

/** A connection of phpredis, which connects again by itself. */
function phpredis(string $address): Redis
{
    [$host, $port] = explode(':', $address);
    $redis = new Redis();
    $redis->connect($host, (int) $port, TIMEOUT_S, null, 0, TIMEOUT_S);
    return $redis;
}

/** Predis asks the nodes as sentinels if there are several. */
function predis(array $addresses): Predis\Client
{
    require_once 'Predis/autoload.php';
    $servers = array_map(fn ($address) => "tcp://$address?timeout=" . TIMEOUT_S, $addresses);
    return count($servers) === 1
        ? new Predis\Client($servers[0])
        : new Predis\Client($servers, ['replication' => 'sentinel', 'service' => 'mymaster']);
}

final class ByPhpredis
{
    private readonly Redis $redis;
    private readonly string $value;

    public function __construct(array $addresses, private readonly string $key, private readonly int $ttlS)
    {
        $this->redis = phpredis($addresses[0]);
        $this->value = bin2hex(random_bytes(16));
    }

    public function take(): bool
    {
        return $this->redis->set($this->key, $this->value, ['nx', 'ex' => $this->ttlS]);
    }

    public function extend(): bool
    {
        return $this->redis->eval(EXTEND, [$this->key, $this->value, $this->ttlS * 1000], 1) === 1;
    }

    public function release(): bool
    {
        return $this->redis->eval(RELEASE, [$this->key, $this->value], 1) === 1;
    }
}

final class ByPredis
{
    private readonly Predis\Client $redis;
    private readonly string $value;

    public function __construct(array $addresses, private readonly string $key, private readonly int $ttlS)
    {
        $this->redis = predis($addresses);
        $this->value = bin2hex(random_bytes(16));
    }

    public function take(): bool
    {
        return $this->redis->set($this->key, $this->value, 'EX', $this->ttlS, 'NX') !== null;
    }

    public function extend(): bool
    {
        return $this->redis->eval(EXTEND, 1, $this->key, $this->value, $this->ttlS * 1000) === 1;
    }

    public function release(): bool
    {
        return $this->redis->eval(RELEASE, 1, $this->key, $this->value) === 1;
    }
}

/** `Cache::lock` of Laravel, which extends nothing. */
final class Laravel
{
    private readonly Illuminate\Contracts\Cache\Lock $lock;

    public function __construct(string $driver, array $addresses, string $key, int $ttlS)
    {
        foreach (['Predis', 'Illuminate/Contracts', 'Illuminate/Support', 'Illuminate/Redis', 'Illuminate/Cache'] as $name) {
            require_once "$name/autoload.php";
        }
        [$host, $port] = explode(':', $addresses[0]);
        $server = ['host' => $host, 'port' => (int) $port, 'database' => 0];
        $servers = ['default' => $server + ['timeout' => TIMEOUT_S, 'read_timeout' => TIMEOUT_S]];
        $manager = new Illuminate\Redis\RedisManager(null, $driver, $servers);
        $this->lock = (new Illuminate\Cache\RedisStore($manager, 'laravel_cache:'))->lock($key, $ttlS);
    }

    public function take(): bool
    {
        return $this->lock->get();
    }

    public function release(): bool
    {
        return $this->lock->release();
    }
}

final class SymfonyLock
{
    private readonly Symfony\Component\Lock\LockInterface $lock;

    public function __construct(array $addresses, string $key, int $ttlS)
    {
        require_once 'Symfony/Component/Lock/autoload.php';
        $store = new Symfony\Component\Lock\Store\RedisStore(phpredis($addresses[0]));
        $this->lock = (new Symfony\Component\Lock\LockFactory($store))->createLock($key, $ttlS, false);
    }

    public function take(): bool
    {
        return $this->lock->acquire();
    }

    public function extend(): bool
    {
        $this->lock->refresh();
        return true;
    }

    public function release(): string
    {
        $this->lock->release();
        return 'done';
    }
}

define('CLIENTS', [
    'phpredis' => fn (...$args) => new ByPhpredis(...$args),
    'predis' => fn (...$args) => new ByPredis(...$args),
    'Laravel by phpredis' => fn (...$args) => new Laravel('phpredis', ...$args),
    'Laravel by predis' => fn (...$args) => new Laravel('predis', ...$args),
    'symfony/lock' => fn (...$args) => new SymfonyLock(...$args),
]);
