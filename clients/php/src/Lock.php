<?php

declare(strict_types=1);

namespace Holdfast;

/**
 * A lock, from {@see Client::lock()}. It is given back by `release`, and at the latest, as well as it can be, when
 * nothing refers to it any more, as at the end of the script.
 */
final class Lock
{
    /** The fencing token: larger than every token before it. Send it with every write to what the lock protects. */
    public readonly int $token;
    /**
     * For each semaphore, the numbers of the permits.
     *
     * @var list<list<int>>
     */
    public readonly array $slots;
    private string $query;
    private Moment $sent;
    private float $trust = 0.0; // In seconds, counted from `$sent`.
    private ?string $reason = null; // Why it is over, once that is known.
    private readonly int $process;

    /**
     * @internal
     * @param list<string> $headers they prove the owner
     */
    public function __construct(private Client $client, string $key, private array $headers, private float $ttl)
    {
        $this->query = http_build_query(['key' => $key]); // One key names the lock, whatever others it has.
        $this->sent = new Moment();
        $this->process = (int) getmypid();
    }

    public function __destruct()
    {
        if ($this->reason === null) {
            $this->leave();
        }
    }

    /** Whether this process took it. A forked child neither ends nor believes in its parent's lock. */
    public function isOwn(): bool
    {
        return $this->process === getmypid();
    }

    /** Whether the lock can be relied on now. */
    public function isHeld(): bool
    {
        return $this->remaining() > 0;
    }

    /** For how many seconds the lock can be relied on from now, if nothing extends it; INF: without end. */
    public function remaining(): float
    {
        return $this->isOwn() && $this->reason === null ? max(0.0, $this->trust - $this->sent->age()) : 0.0;
    }

    /**
     * Does nothing while the lock is held.
     *
     * @throws LockLostException if it is not
     */
    public function check(): void
    {
        if (!$this->isHeld()) {
            $this->reason ??= $this->isOwn() ? 'expired' : 'forked';
            throw new LockLostException($this->reason);
        }
    }

    /**
     * Extends the lock if that is due. To be called more often than every third of the TTL. Trouble with the cluster
     * is not an error before the lock is over.
     *
     * @throws LockLostException if the lock is over
     */
    public function keep(): void
    {
        $this->check();
        if ($this->ttl > 0 && $this->sent->age() >= $this->ttl / 3) {
            try {
                $this->renew($this->ttl, 0.0);
            } catch (HoldfastException) {
                // Tried again by the next call.
            }
            $this->check();
        }
    }

    /**
     * Extends the lock now, such as before a step that takes longer than the TTL.
     *
     * @param float|null $ttl for how many seconds from now, this time; default: the TTL with which it was taken. An
     *     extension never shortens a lock.
     * @throws LockLostException if the lock is over
     * @throws HoldfastException `UNAVAILABLE` if no node has done it; the lock is held until `remaining` is 0
     */
    public function extend(?float $ttl = null): void
    {
        $this->check();
        if (($ttl ??= $this->ttl) > 0) { // One without end needs nothing.
            try {
                $this->renew($ttl, min($this->client->patience, $this->remaining()));
            } catch (HoldfastException $error) {
                $this->check();
                throw $error;
            }
            $this->check();
        }
    }

    /**
     * Gives the lock back.
     *
     * @throws LockLostException if it was lost before
     * @throws HoldfastException `UNAVAILABLE` if no node answers; the lock then ends with its lease
     */
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
            throw new LockLostException($lost);
        }
    }

    /** Gives back what it may have, as well as it can; the rest ends with its lease. Never throws because of that. */
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

    /**
     * @internal
     * @param array<string, mixed> $answer
     */
    public function granted(Moment $sent, array $answer): void
    {
        if (!is_int($answer['token'] ?? null)) {
            throw new HoldfastException('PROTOCOL', 'the answer grants no lock, so it comes from no node', 200);
        }
        [$this->token, $this->slots] = [$answer['token'], $answer['slots'] ?? []];
        [$this->sent, $this->trust] = [$sent, ($answer['trustMs'] ?? INF) / 1000];
        if (!$this->isHeld()) {
            $this->renew($this->ttl, $this->client->patience); // The grant took too long to arrive.
        }
        $this->check();
    }

    /** It was refused, so there is nothing to give back. @internal */
    public function forget(): void
    {
        $this->reason ??= 'refused';
    }

    private function renew(float $ttl, float $patience): void
    {
        $target = "/v1/lock/extend?$this->query&ttl=" . (int) round($ttl * 1000);
        $silence = min(Client::ANSWER, $ttl / 3);
        try {
            [$sent, $answer] = $this->ask('POST', $target, $patience, $silence);
        } catch (HoldfastException $error) {
            if ($error->error !== 'NOT_HELD') {
                throw $error;
            }
            $this->reason ??= $error->reason ?? 'unknown';
            return;
        }
        [$this->sent, $this->trust] = [$sent, ($answer['trustMs'] ?? INF) / 1000];
    }

    /** @return array<string, mixed> */
    private function giveBack(float $patience): array
    {
        return $this->ask('DELETE', "/v1/lock?$this->query", $patience, Client::ANSWER)[1];
    }

    /** @return array{Moment, array<string, mixed>} */
    private function ask(string $method, string $target, float $patience, float $silence): array
    {
        return $this->client->nodes->ask($method, static fn () => [$target, null], $this->headers, $patience, $silence);
    }
}
