<?php

declare(strict_types=1);

namespace Holdfast;

/** `LOCK_LOST`: another may hold the lock now, so nothing more may be done under it. `$reason` says why. */
final class LockLostException extends HoldfastException
{
    public function __construct(string $reason)
    {
        parent::__construct('LOCK_LOST', "the lock is over: $reason", 0, $reason);
    }
}
