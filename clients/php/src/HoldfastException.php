<?php

declare(strict_types=1);

namespace Holdfast;

/** A refusal or a failure. */
class HoldfastException extends \RuntimeException
{
    /**
     * @param string $error a code of docs/reference/errors.md, such as `LOCK_HELD`, whose meaning never changes
     * @param string $message a sentence for people
     * @param int $status the status of HTTP; 0 if no answer arrived
     * @param string|null $reason with `LOCK_LOST` and `NOT_HELD`: why the lock is over, such as `expired`
     */
    public function __construct(
        public readonly string $error,
        string $message,
        public readonly int $status = 0,
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
