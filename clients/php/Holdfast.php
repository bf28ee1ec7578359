<?php
/**
 * Locks of a Holdfast cluster for PHP 8.1 and later, over its HTTP API, with nothing but streams and JSON.
 *
 *     $client = new Holdfast\Client('http://127.0.0.1:7411');
 *     $client->using('orders/1001', function (Holdfast\Lock $lock) { write($lock->token); });
 *
 * Each lock is a lease of a random owner. PHP has no threads, so the program extends it: `keep` does that
 * when a third of the TTL is over. Its time counts from before the request that it answers was sent. Never
 * believes in a lock for longer than the cluster promised.
 */
declare(strict_types=1);

namespace Holdfast;

/** A refusal or a failure. `$error` is a code of docs/reference/errors.md and does not change. */
class HoldfastException extends \RuntimeException
{
    public function __construct(
        public readonly string $error,
        string $message,
        /** The status of HTTP; 0 if no answer arrived. */
        public readonly int $status = 0,
        /** With LOCK_LOST and NOT_HELD: why the lock is over. */
        public readonly ?string $reason = null,
    ) {
        parent::__construct("$error: $message");
    }

    /**
     * Whether no node could serve the request, so that its outcome may be unknown; or a copy of it, which something on
     * the way made, waits in its place.
     */
    public function isRepeatable(): bool
    {
        return in_array($this->status, [500, 502, 503, 504], true)
            || ($this->status === 0 && $this->error === 'UNAVAILABLE') || $this->error === 'CANCELLED';
    }
}

/** A moment, and what has passed since then: also the time in which the machine sleeps, by its wall clock. */
final class Moment
{
    private int $monotonic;
    private float $wall;

    public function __construct()
    {
        [$this->monotonic, $this->wall] = [hrtime(true), microtime(true)];
    }

    /** In seconds. */
    public function age(): float
    {
        return max((hrtime(true) - $this->monotonic) / 1e9, microtime(true) - $this->wall);
    }
}

/** Knows the nodes of a cluster and who the caller is. */
final class Client
{
    private const POLL = 45.0; // A node answers a request that waits after this many seconds at the latest.
    public const ANSWER = 5.0; // How long any other answer may take.
    private const ENDLESS = 3600.0; // What a wait without end asks for; each repeat begins it again.

    /** @var list<string> */
    private array $endpoints;
    private string $token;
    private int $at;

    /**
     * @param string|null $endpoints URLs with commas; default: HOLDFAST_ENDPOINTS, else this machine
     * @param string|null $token the access token; default: HOLDFAST_ACCESS_TOKEN
     * @param array<string, mixed> $ssl options of PHP's SSL context, for https
     * @param float $patience for how many seconds to look for a node that can serve a request
     */
    public function __construct(
        ?string $endpoints = null,
        ?string $token = null,
        private array $ssl = [],
        public readonly float $patience = 10.0,
    ) {
        $endpoints ??= getenv('HOLDFAST_ENDPOINTS')
            ?: 'http://127.0.0.1:7411,http://127.0.0.1:7412,http://127.0.0.1:7413';
        $this->endpoints = array_map(static function (string $text): string {
            $node = rtrim(preg_replace('/^ws/', 'http', trim($text)), '/'); // The SDK's name the same port.
            if (!preg_match('#^https?://[^/]#', $node)) {
                throw new \InvalidArgumentException("'$text' is not the URL of a node, such as http://10.0.0.1:7411");
            }
            return $node;
        }, explode(',', $endpoints));
        $this->token = $token ?? (getenv('HOLDFAST_ACCESS_TOKEN') ?: '');
        $this->at = random_int(0, count($this->endpoints) - 1);
    }

    /**
     * Takes the lock of one key, or of all keys at once. Throws LOCK_HELD, LOCK_TIMEOUT, UNAVAILABLE and others.
     *
     * @param string|list<string|array<string, mixed>> $keys an array has `key`, `mode`, `permits`, `limit`
     * @param float $ttl how long the lock outlives this process, in seconds; 0: without end
     * @param float|null $wait for how many seconds it may wait; null: forever; 0: not at all
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
        $given = ['mode' => $shared ? 'shared' : null, 'permits' => $permits, 'limit' => $limit];
        $given = array_filter($given, static fn ($value) => $value !== null);
        $items = array_map(static fn ($key) => (is_array($key) ? $key : ['key' => $key]) + $given, (array) $keys);
        $headers = ['Holdfast-Owner: ' . bin2hex(random_bytes(16)), ...($name === null ? [] : ["Holdfast-Name: $name"])];
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
            if (!$isRefused) { // It may have been granted; else it ends with its lease.
                $lock->leave();
            }
            throw $error;
        }
    }

    /** Calls `$work` with a lock, gives that back, and returns the result. Throws LOCK_LOST if it was lost meanwhile. */
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

    /** What the cluster says of a key. @return array<string, mixed> */
    public function look(string $key): array
    {
        $target = '/v1/lock?' . http_build_query(['key' => $key]);
        return $this->ask('GET', static fn () => [$target, null], [], $this->patience, self::ANSWER)[1];
    }

    /** @return array{Moment, array<string, mixed>} when the request was sent that was granted, and the answer */
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
            $got = $this->ask('POST', $create, $headers, $left, self::ANSWER + min($longest, self::POLL));
            if (!($got[1]['queued'] ?? false)) {
                return $got;
            }
            usleep((int) (1e6 * max(0.0, 0.1 - $got[0]->age()))); // Never in a busy loop.
        }
    }

    /**
     * Asks node after node for as long as `$patience` until one accepts. For `Lock`.
     *
     * @param callable $create makes target and body of each attempt
     * @param float $silence how long one may take to answer
     * @return array{Moment, array<string, mixed>} when that request was sent, and the answer
     */
    public function ask(string $method, callable $create, array $headers, float $patience, float $silence): array
    {
        $began = new Moment();
        for ($attempts = 1, $pause = 0.05;; $attempts++) {
            $sent = new Moment();
            try {
                return [$sent, $this->send($method, $create(), $headers, $silence)];
            } catch (HoldfastException $error) {
                if (!$error->isRepeatable()) {
                    throw $error;
                }
                $this->at = ($this->at + 1) % count($this->endpoints);
                if ($attempts % count($this->endpoints) === 0) {
                    $rest = min($pause * random_int(500, 1500) / 1000, max(0.0, $patience - $began->age()));
                    usleep((int) (1e6 * $rest));
                    $pause = min(2 * $pause, 1.0);
                }
                if ($began->age() >= $patience) {
                    throw $error;
                }
            }
        }
    }

    /** @param array{string, ?string} $wish target and body */
    private function send(string $method, array $wish, array $headers, float $silence): array
    {
        [$target, $body] = $wish;
        $headers = [...$headers, 'Connection: close', ...($body === null ? [] : ['Content-Type: application/json'])];
        if ($this->token !== '') {
            $headers[] = "Authorization: Bearer $this->token";
        }
        // A node redirects nobody, and elsewhere the owner would not stay secret.
        $http = ['method' => $method, 'header' => $headers, 'content' => $body ?? '', 'timeout' => $silence,
            'protocol_version' => 1.1, 'ignore_errors' => true, 'follow_location' => 0];
        $node = $this->endpoints[$this->at];
        $asked = new Moment();
        $stream = @fopen($node . $target, 'r', false, stream_context_create(['http' => $http, 'ssl' => $this->ssl]));
        if ($stream === false) {
            throw new HoldfastException('UNAVAILABLE', "$node does not answer");
        }
        $lines = implode("\n", stream_get_meta_data($stream)['wrapper_data']);
        $status = preg_match('#^HTTP/\S+ (\d{3})#', $lines, $found) ? (int) $found[1] : 0;
        // A proxy may keep the connection open: so no longer than the answer is.
        $length = preg_match('/^Content-Length: *(\d+)/mi', $lines, $found) ? (int) $found[1] : null;
        $text = '';
        // Time limits of streams are for each piece: an answer that drips would never be over.
        while (!feof($stream) && strlen($text) < ($length ?? INF) && $asked->age() < $silence) {
            $left = max(0.001, $silence - $asked->age());
            stream_set_timeout($stream, (int) $left, (int) (1e6 * fmod($left, 1)));
            $text .= fread($stream, 8192);
        }
        $isWhole = $length === null ? feof($stream) : strlen($text) === $length;
        fclose($stream);
        if (!$isWhole || $status === 0) {
            throw new HoldfastException('UNAVAILABLE', "$node did not answer to the end");
        }
        $answer = json_decode($text, true);
        // Only a proxy answers anything but JSON, which is not a success whatever its status says.
        if (is_array($answer) && ($status === 200 || $status === 202)) {
            return $answer;
        }
        $code = $answer['code'] ?? (in_array($status, [500, 502, 503, 504], true) ? 'UNAVAILABLE' : 'PROTOCOL');
        throw new HoldfastException($code, $answer['detail'] ?? "status $status", $status, $answer['details']['reason'] ?? null);
    }
}

/** A lock, from `Client::lock`. */
final class Lock
{
    /** The fencing token. */
    public readonly int $token;
    /** For each semaphore, the numbers of the permits. @var list<list<int>> */
    public readonly array $slots;
    private string $query;
    private Moment $sent;
    private float $trust = 0.0; // In seconds, counted from `$sent`.
    private ?string $reason = null;
    private readonly int $process;

    /** @param list<string> $headers they prove the owner */
    public function __construct(private Client $client, string $key, private array $headers, private float $ttl)
    {
        $this->query = http_build_query(['key' => $key]); // One key names the lock, whatever others it has.
        $this->sent = new Moment();
        $this->process = (int) getmypid();
    }

    /** Whether this process took it. A forked child neither ends nor believes in its parent's lock. */
    public function isOwn(): bool
    {
        return $this->process === getmypid();
    }

    /** For `Client`. @param array<string, mixed> $answer */
    public function granted(Moment $sent, array $answer): void
    {
        [$this->token, $this->slots] = [$answer['token'], $answer['slots'] ?? []];
        [$this->sent, $this->trust] = [$sent, ($answer['trustMs'] ?? INF) / 1000];
        if (!$this->isHeld()) {
            $this->extend($this->client->patience); // The grant took too long to arrive.
        }
        $this->check();
    }

    public function isHeld(): bool
    {
        return $this->isOwn() && $this->reason === null && $this->sent->age() < $this->trust;
    }

    /** Throws LOCK_LOST unless the lock is held now. */
    public function check(): void
    {
        if (!$this->isHeld()) {
            $this->reason ??= $this->isOwn() ? 'expired' : 'forked';
            throw new HoldfastException('LOCK_LOST', "the lock is over: $this->reason", 0, $this->reason);
        }
    }

    /**
     * To be called more often than every third of the TTL: extends the lock if that is due, and
     * throws LOCK_LOST if it is over. Trouble with the cluster is not an error before that.
     */
    public function keep(): void
    {
        $this->check();
        if ($this->ttl > 0 && $this->sent->age() >= $this->ttl / 3) {
            try {
                $this->extend(0.0);
            } catch (HoldfastException) {
                // Tried again by the next call.
            }
            $this->check();
        }
    }

    /** Gives the lock back. Throws LOCK_LOST if it was lost before, UNAVAILABLE if no node answers. */
    public function release(): void
    {
        if (!$this->isOwn()) {
            throw new \LogicException('the lock belongs to the process that took it, not to its forked child');
        }
        $wasHeld = $this->isHeld();
        $lost = $this->reason ?? 'expired';
        $this->reason ??= $wasHeld ? 'released' : 'expired';
        $answer = $this->giveBack($this->client->patience);
        // A repeat finds what an earlier request, whose answer did not arrive, has released.
        if ($wasHeld && !$answer['released'] && $answer['reason'] !== 'released') {
            [$wasHeld, $lost] = [false, $answer['reason'] ?? 'unknown'];
        }
        if (!$wasHeld && $lost !== 'released') {
            throw new HoldfastException('LOCK_LOST', "the lock is over: $lost", 0, $lost);
        }
    }

    /** Gives back what it may have, as well as it can; the rest ends with its lease. */
    public function leave(): void
    {
        if (!$this->isOwn()) {
            return;
        }
        $this->reason ??= 'released';
        try {
            $this->giveBack(0.0);
        } catch (HoldfastException) {
            // No node serves.
        }
    }

    private function extend(float $patience): void
    {
        $target = "/v1/lock/extend?$this->query&ttl=" . (int) round($this->ttl * 1000);
        $silence = min(Client::ANSWER, $this->ttl / 3);
        try {
            [$sent, $answer] = $this->client->ask('POST', static fn () => [$target, null], $this->headers, $patience, $silence);
        } catch (HoldfastException $error) {
            if ($error->error !== 'NOT_HELD') {
                throw $error;
            }
            $this->reason ??= $error->reason ?? 'unknown';
            return;
        }
        [$this->sent, $this->trust] = [$sent, ($answer['trustMs'] ?? INF) / 1000];
    }

    private function giveBack(float $patience): array
    {
        $target = "/v1/lock?$this->query";
        return $this->client->ask('DELETE', static fn () => [$target, null], $this->headers, $patience, Client::ANSWER)[1];
    }
}
