<?php

declare(strict_types=1);

namespace Holdfast;

/**
 * A moment, and what has passed since then: also the time in which the machine sleeps, by its wall clock.
 *
 * @internal
 */
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
