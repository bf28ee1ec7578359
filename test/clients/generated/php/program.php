<?php

// Takes and gives back locks with what openapi-generator generates for PHP.
declare(strict_types=1);

require 'GuzzleHttp/autoload.php';
spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'Generated\\')) {
        require __DIR__ . '/lib/' . strtr(substr($class, strlen('Generated\\')), '\\', '/') . '.php';
    }
});

use Generated\Model;

$config = (new Generated\Configuration())->setHost($argv[1]);
$leases = new Generated\Api\LeasesApi(null, $config);
$views = new Generated\Api\ViewsApi(null, $config);
$key = 'generated/php';
$said = static fn (bool $is): string => $is ? 'true' : 'false';

$taken = $leases->takeLease($key, '30s', 'first');
echo $taken instanceof Model\Lease && $taken->getToken() > 0 ? 'taken' : $taken, "\n";
try {
    $leases->takeLease($key, '30s', 'second', idempotency_key: '1');
} catch (Generated\ApiException $refused) {
    echo 'refused: ', $refused->getResponseObject()->getCode(), "\n";
}
$queued = $leases->takeLease($key, '30s', 'second', wait: '10s', poll: '1s', idempotency_key: '1');
echo $queued instanceof Model\Queued ? 'queued' : $queued, "\n";
echo 'extended: ', $said($leases->extendLease($key, '60s', 'first')->getTrustMs() > 30_000), "\n";
$seen = $views->lookAtKey($key, 'first');
$isMine = $said($seen->getMine()->getToken() === $seen->getHolds()[0]->getToken());
echo "seen: {$seen->getKind()} ", count($seen->getHolds()), " $isMine\n";
echo 'given back: ', $said($leases->giveBackLease($key, 'second')->getReleased()), "\n";
echo 'given back: ', $said($leases->giveBackLease($key, 'first')->getReleased()), "\n";
$items = [new Model\WantedItem(['key' => $key]), new Model\WantedItem(['key' => "$key/permits", 'limit' => 3])];
$several = $leases->takeLeaseOfAll('third', new Model\TakeAll(['items' => $items, 'ttl' => '30s']));
echo 'several: ', json_encode($several->getSlots()), "\n";
echo 'given back: ', $said($leases->giveBackLease($key, 'third')->getReleased()), "\n";
