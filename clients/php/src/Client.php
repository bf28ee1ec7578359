<?php

declare(strict_types=1);

namespace Holdfast;

/**
 * Locks of a Holdfast cluster, over its HTTP API.
 *
 *     $client = new Holdfast\Client('http://10.0.0.1:7411,http://10.0.0.2:7411,http://10.0.0.3:7411');
 *     $client->using('orders/1001', function (Holdfast\Lock $lock) { write($lock->token); }, wait: 10);
 *
 * Each lock is a lease of a random owner. PHP has no threads, so the program extends it: {@see Lock::keep()} does that
 * when a third of the TTL is over. Its time counts from before the request that it answers was sent. Never believes in
 * a lock for longer than the cluster promised.
 */
final class Client
{
    /** How long an answer may take that waits for nothing, in seconds. @internal */
    public const ANSWER = 5.0;
    private const POLL = 45.0; // A node answers a request that waits after this many seconds at the latest.
    private const ENDLESS = 3600.0; // What a wait without end asks for; each repeat begins it again.
    private const KEEPALIVE = 40; // A watch has a sign of life every 15 seconds.

    /** @internal */
    public readonly Nodes $nodes;

    /**
     * @param string|null $endpoints URLs of nodes with commas; default: `HOLDFAST_ENDPOINTS`, else this machine
     * @param string|null $token the access token; default: `HOLDFAST_ACCESS_TOKEN`, else what is in the file
     *     `HOLDFAST_ACCESS_TOKEN_FILE`
     * @param array<string, mixed> $ssl options of PHP's SSL context, for https; default: the files `HOLDFAST_CA`,
     *     `HOLDFAST_CERT` and `HOLDFAST_CERT_KEY`
     * @param float $patience for how many seconds to look for a node that can serve a request
     * @throws \InvalidArgumentException if an endpoint is not a URL, or the file of the token cannot be read
     */
    public function __construct(
        ?string $endpoints = null,
        ?string $token = null,
        array $ssl = [],
        public readonly float $patience = 10.0,
    ) {
        $endpoints ??= getenv('HOLDFAST_ENDPOINTS')
            ?: 'http://127.0.0.1:7411,http://127.0.0.1:7412,http://127.0.0.1:7413';
        $files = ['cafile' => 'HOLDFAST_CA', 'local_cert' => 'HOLDFAST_CERT', 'local_pk' => 'HOLDFAST_CERT_KEY'];
        $ssl += array_filter(array_map('getenv', $files));
        $this->nodes = new Nodes($endpoints, $token ?? self::tokenOfEnvironment(), $ssl);
    }

    private static function tokenOfEnvironment(): string
    {
        $token = getenv('HOLDFAST_ACCESS_TOKEN') ?: '';
        $file = getenv('HOLDFAST_ACCESS_TOKEN_FILE') ?: '';
        if ($token !== '' || $file === '') {
            return $token;
        }
        $text = trim((string) @file_get_contents($file));
        return $text !== '' ? $text : throw new \InvalidArgumentException("there is no access token in $file");
    }

    /**
     * Takes the lock of one key, or of all keys at once as one lock with one token.
     *
     * @param string|list<string|array{key: string, mode?: string, permits?: int, limit?: int}> $keys the name of the
     *     lock, or up to 16 of them; an array says what is wanted of its key, where that differs
     * @param float $ttl how long the lock outlives this process, in seconds; 0: without end
     * @param float|null $wait for how many seconds to wait in the queue; null: forever; 0: not at all
     * @param bool $shared shares the lock with other shared holders
     * @param int|null $permits takes this many permits of a semaphore; default with `$limit`: 1
     * @param int|null $limit how many permits the semaphore has; needed while it is not in use
     * @param string|null $name what others see of this holder
     * @throws HoldfastException `LOCK_HELD` if the lock is held and `$wait` is 0, `LOCK_TIMEOUT` if it was not free in
     *     time, `UNAVAILABLE` if no node serves, or another code of docs/reference/errors.md
     */
    public function lock(
        string|array $keys,
        float $ttl = 15.0,
        ?float $wait = null,
        bool $shared = false,
        ?int $permits = null,
        ?int $limit = null,
        ?string $name = null,
    ): Lock {
        $keys = is_string($keys) ? [$keys] : $keys;
        if ($keys === [] || !array_is_list($keys)) {
            throw new \InvalidArgumentException('$keys must be the name of a lock, or a list of them');
        }
        $given = ['mode' => $shared ? 'shared' : null, 'permits' => $permits, 'limit' => $limit];
        $given = array_filter($given, static fn ($value) => $value !== null);
        $items = array_map(static fn ($key) => (is_array($key) ? $key : ['key' => $key]) + $given, $keys);
        $headers = ['Holdfast-Owner: ' . bin2hex(random_bytes(16))];
        if ($name !== null) {
            $headers[] = "Holdfast-Name: $name";
        }
        $lock = new Lock($this, $items[0]['key'], $headers, $ttl);
        $hasAnswer = false;
        try {
            $got = $this->take($items, $headers, $ttl, $wait);
            $hasAnswer = true;
            $lock->granted(...$got);
            return $lock;
        } catch (\Throwable $error) {
            $isRefused = !$hasAnswer && $error instanceof HoldfastException && !$error->isRepeatable()
                && $error->error !== 'PROTOCOL';
            if ($isRefused) {
                $lock->forget();
            } else { // It may have been granted; else it ends with its lease.
                $lock->leave();
            }
            throw $error;
        }
    }

    /**
     * Takes a lock if it is free, without waiting.
     *
     * @param string|list<string|array{key: string, mode?: string, permits?: int, limit?: int}> $keys as of `lock`
     * @param mixed ...$options `ttl`, `shared`, `permits`, `limit`, `name`, as of `lock`
     * @return Lock|null null: another has it
     * @throws HoldfastException as `lock`, without `LOCK_HELD`
     */
    public function tryLock(string|array $keys, mixed ...$options): ?Lock
    {
        try {
            return $this->lock($keys, ...$options, wait: 0.0);
        } catch (HoldfastException $error) {
            return $error->error === 'LOCK_HELD' ? null : throw $error;
        }
    }

    /**
     * Calls `$work` with a lock, gives that back, and returns the result.
     *
     * @template T
     * @param string|list<string|array{key: string, mode?: string, permits?: int, limit?: int}> $keys as of `lock`
     * @param callable(Lock): T $work
     * @param mixed ...$options `ttl`, `wait`, `shared`, `permits`, `limit`, `name`, as of `lock`
     * @return T
     * @throws HoldfastException as `lock`, before `$work` is called
     * @throws LockLostException if the lock was lost meanwhile
     */
    public function using(string|array $keys, callable $work, mixed ...$options): mixed
    {
        $lock = $this->lock($keys, ...$options);
        try {
            $result = $work($lock);
        } catch (\Throwable $error) {
            $lock->leave();
            throw $error;
        }
        if (!$lock->isOwn()) {
            return $result;
        }
        try {
            $lock->release();
        } catch (HoldfastException $error) {
            if (!$error->isRepeatable()) {
                throw $error; // Else what was done is done, and the lock ends with its lease.
            }
        }
        return $result;
    }

    /**
     * What the cluster says of a key: `holds`, `waiters` and more, as `Key` in docs/reference/openapi.json.
     *
     * @return array<string, mixed>
     * @throws HoldfastException
     */
    public function look(string $key): array
    {
        $target = '/v1/lock?' . http_build_query(['key' => $key]);
        return $this->nodes->ask('GET', static fn () => [$target, null], [], $this->patience, self::ANSWER)[1];
    }

    /**
     * Changes of keys as they happen, without an end: leave the loop when you have seen enough.
     *
     *     foreach ($client->watch('orders/') as $id => $change) { … $change['type'], $change['key'] … }
     *
     * The first is of the type `begun`: nothing after it is missed, also when a node is lost. Only `reset` says that
     * changes are missing, so that everything has to be read again.
     *
     * @param string $prefix only keys that begin so
     * @param string|null $after the id of a change, to continue after it
     * @return \Generator<string, array<string, mixed>> by its id, the `type` of each change, and what `Change` in
     *     docs/reference/openapi.json has
     * @throws HoldfastException `UNAVAILABLE` if no node serves, and refusals
     */
    public function watch(string $prefix = '', ?string $after = null): \Generator
    {
        $target = '/v1/watch?' . http_build_query(['prefix' => $prefix]);
        for ($begins = true;; usleep(100_000)) { // Never in a busy loop.
            $headers = $after === null ? [] : ["Last-Event-ID: $after"];
            $event = [];
            foreach ($this->nodes->lines($target, $headers, $this->patience, self::ANSWER, self::KEEPALIVE) as $line) {
                if (preg_match('/^(id|event|data): (.*)$/', $line, $found)) {
                    $event[$found[1]] = $found[2];
                } elseif ($line === '') {
                    $after = $event['id'] ?? $after;
                    if (isset($event['data'], $event['event']) && ($begins || $event['event'] !== 'begun')) {
                        $begins = false;
                        yield $after ?? '' => ['type' => $event['event']] + json_decode($event['data'], true);
                    }
                    $event = [];
                }
            }
        }
    }

    /**
     * @param list<array<string, mixed>> $items
     * @param list<string> $headers
     * @return array{Moment, array<string, mixed>} when the request was sent that was granted, and the answer
     */
    private function take(array $items, array $headers, float $ttl, ?float $wait): array
    {
        $began = new Moment();
        $longest = $wait ?? self::ENDLESS;
        $patience = $wait === null ? INF : ($wait > 0 ? $wait : $this->patience);
        $headers[] = 'Idempotency-Key: ' . bin2hex(random_bytes(16));
        $create = static function () use ($began, $items, $ttl, $wait, $longest): array {
            $left = $wait === null || $wait <= 0 ? $longest : max(0.001, $wait - $began->age());
            $times = ['ttl' => (int) round($ttl * 1000), 'wait' => (int) round($left * 1000)];
            return ['/v1/locks', json_encode(['items' => $items] + $times, JSON_THROW_ON_ERROR)];
        };
        while (true) {
            $left = max(0.0, $patience - $began->age());
            $got = $this->nodes->ask('POST', $create, $headers, $left, self::ANSWER + min($longest, self::POLL));
            if (!($got[1]['queued'] ?? false)) {
                return $got;
            }
            usleep((int) (1e6 * max(0.0, 0.1 - $got[0]->age()))); // Never in a busy loop.
        }
    }
}
