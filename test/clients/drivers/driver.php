<?php
// Plays the client's part of one transcript with the PHP client, and prints what it reports.
declare(strict_types=1);

require getenv('HOLDFAST_PHP');

function report(array $what): void
{
    fwrite(STDOUT, json_encode($what) . "\n");
}

function hold(Holdfast\Lock $lock): void
{
    while (true) {
        $lock->keep();
        [$read, $none] = [[STDIN], null];
        if (stream_select($read, $none, $none, 0, 20_000) === 1) {
            return;
        }
    }
}

$wish = json_decode($argv[1], true);
$client = new Holdfast\Client();
try {
    if (isset($wish['looks'])) {
        report(['view' => $client->look($wish['looks'])]);
        exit;
    }
    if (isset($wish['watches'])) {
        $seen = [];
        foreach ($client->watch($wish['watches']['prefix']) as $change) {
            $seen[] = ['type' => $change['type'], 'key' => $change['key'] ?? ''];
            if (count($seen) === $wish['watches']['changes']) {
                break;
            }
        }
        report(['changes' => $seen]);
        exit;
    }
    $wanted = $wish['lock'];
    $options = array_intersect_key($wanted, array_flip(['shared', 'permits', 'limit', 'name']));
    $wait = isset($wanted['waitMs']) ? $wanted['waitMs'] / 1000 : null;
    $work = static function (Holdfast\Lock $lock) use ($wish): bool {
        report(['token' => $lock->token, 'slots' => $lock->slots]);
        if (isset($wish['forks']) && ($child = pcntl_fork()) === 0) {
            report(['childHeld' => $lock->isHeld()]);
            return false;
        }
        if (isset($wish['forks'])) {
            pcntl_waitpid($child, $status);
        }
        if (isset($wish['extendsMs'])) {
            $lock->extend($wish['extendsMs'] / 1000);
            report(['isExtended' => $lock->remaining() > $wish['lock']['ttlMs'] / 1000]);
        }
        if (isset($wish['holds'])) {
            hold($lock);
        }
        return true;
    };
    $isParent = $client->using($wanted['keys'], $work, ...$options, ttl: $wanted['ttlMs'] / 1000, wait: $wait);
    if (!$isParent) {
        exit;
    }
    report(['outcome' => 'released']);
} catch (Holdfast\HoldfastException $error) {
    $isLost = $error->error === 'LOCK_LOST';
    report($isLost ? ['outcome' => 'lost', 'reason' => $error->reason] : ['outcome' => $error->error]);
}
