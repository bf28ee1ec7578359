<?php

/*
 * Lock clients of Redis in PHP, as their users use them.
 *
 * `main.php steps CLIENT=ADDRESS …` takes the same steps with each client, and prints what each step came to.
 * `main.php fault CLIENT=ADDRESS,ADDRESS … …` takes a lock with each client, prints "holding", waits for a line while
 * the test does something to the servers, and goes on. `main.php turns CLIENT=ADDRESS …` is for clients that end the
 * lock of anybody, `main.php refused CLIENT=ADDRESS …` prints how each client is refused. Whatever a client does not
 * promise ends the program. Several modes, each before its clients, are gone through in turn.
 */

declare(strict_types=1);

/** Long enough for all that is done while such a lock is held. */
const LONG_S = 60;
/** Locks that nobody releases have it. */
const BRIEF_S = 1;
/** So long somebody tries again. */
const PATIENCE_S = 60;
const PAUSE_US = 50_000;

// Debian's packages of libraries are older than its PHP.
error_reporting(E_ALL & ~E_DEPRECATED);

require __DIR__ . '/clients.php';

function say(string $client, string $what, bool|string $outcome): void
{
    echo "$client: $what: ", is_bool($outcome) ? var_export($outcome, true) : $outcome, "\n";
}

/** Repeats a call until its outcome is known and wanted. */
function inTheEnd(callable $call, callable $isWanted): bool
{
    $deadline = microtime(true) + PATIENCE_S;
    for (;;) {
        try {
            $outcome = $call();
            if ($isWanted($outcome)) {
                return $outcome;
            }
            if (microtime(true) > $deadline) {
                return false;
            }
        } catch (Exception $error) {
            if (microtime(true) > $deadline) {
                throw $error;
            }
        }
        usleep(PAUSE_US);
    }
}

function steps(string $client, callable $user): void
{
    [$alice, $bob, $carol] = [$user(LONG_S), $user(LONG_S), $user(BRIEF_S)];
    say($client, 'alice takes', $alice->take());
    say($client, 'bob takes', $bob->take());
    if (method_exists($alice, 'extend')) {
        say($client, 'alice extends', $alice->extend());
    }
    say($client, 'alice releases', $alice->release());
    say($client, 'bob takes', $bob->take());
    say($client, 'alice releases', $alice->release());
    say($client, 'carol takes', $carol->take());
    say($client, 'bob releases', $bob->release());
    say($client, 'carol takes, and never releases', $carol->take());
    say($client, 'bob takes in the end', inTheEnd($bob->take(...), fn ($taken) => $taken));
    say($client, 'carol releases', $carol->release());
    say($client, 'alice takes', $alice->take());
    say($client, 'bob releases', $bob->release());
}

function fault(array $users): void
{
    $known = fn (callable $call) => inTheEnd($call, fn () => true);
    $alices = [];
    foreach ($users as $client => $user) {
        $alices[$client] = $user(LONG_S);
        say($client, 'alice takes', $known($alices[$client]->take(...)));
    }
    echo "holding\n";
    fgets(STDIN);
    foreach ($alices as $client => $alice) {
        $bob = $users[$client](LONG_S);
        say($client, 'bob takes', $known($bob->take(...)));
        if (method_exists($alice, 'extend')) {
            say($client, 'alice extends', $known($alice->extend(...)));
        }
        say($client, 'alice releases', $known($alice->release(...)));
        say($client, 'bob takes', $known($bob->take(...)));
        say($client, 'bob releases', $known($bob->release(...)));
    }
}

function turns(string $client, callable $user): void
{
    [$alice, $bob] = [$user(LONG_S), $user(LONG_S)];
    say($client, 'alice takes', $alice->take());
    say($client, 'bob takes', $bob->take());
    say($client, 'alice releases', $alice->release());
    say($client, 'bob takes in the end', inTheEnd($bob->take(...), fn ($taken) => $taken));
    say($client, 'bob releases', $bob->release());
}

function refused(string $client, callable $user): void
{
    $attempt = function (string $what, callable $call) use ($client): void {
        try {
            say($client, $what, $call());
        } catch (Exception $error) {
            for ($cause = $error; !str_contains($cause->getMessage(), 'NOHOLDFAST'); $cause = $cause->getPrevious()) {
                if ($cause->getPrevious() === null) {
                    throw $error;
                }
            }
            say($client, $what, $cause->getMessage());
        }
    };
    [$alice, $bob] = [$user(BRIEF_S), $user(BRIEF_S)];
    $attempt('alice takes', $alice->take(...));
    $attempt('alice releases', $alice->release(...));
    $attempt('bob takes', $bob->take(...));
}

$users = [];
foreach (array_slice($argv, 1) as $word) {
    if (!str_contains($word, '=')) {
        $mode = $word;
        continue;
    }
    [$client, $addresses] = explode('=', $word, 2);
    $user = fn (int $ttlS) => CLIENTS[$client](explode(',', $addresses), "client:$client", $ttlS);
    if ($mode === 'fault') {
        $users[$client] = $user;
    } else {
        $mode($client, $user);
    }
}
if ($users !== []) {
    fault($users);
}
