<?php

declare(strict_types=1);

namespace Holdfast;

/**
 * The nodes of a cluster, one of which is asked at a time; the next one after it has failed. Speaks HTTP by itself, so
 * that the time for a connection, and for a whole answer, has an end, whatever php.ini says.
 *
 * @internal
 */
final class Nodes
{
    private const CONNECT = 5.0;
    private const HEAD_BYTES_MAX = 65536;

    /** @var list<array{url: string, socket: string, host: string, path: string}> */
    private array $nodes;
    private int $at;

    /** @param array<string, mixed> $ssl options of PHP's SSL context */
    public function __construct(string $endpoints, private string $token, private array $ssl)
    {
        $this->nodes = array_map(self::node(...), explode(',', $endpoints));
        $this->at = random_int(0, count($this->nodes) - 1); // Clients begin with different nodes.
    }

    /** @return array{url: string, socket: string, host: string, path: string} */
    private static function node(string $text): array
    {
        $url = rtrim(preg_replace('/^ws/', 'http', trim($text)), '/'); // The SDK's name the same port.
        if (!preg_match('#^http(s?)://((?:\[[\da-f:.]+\]|[^/:@?\#\s]+)(?::(\d+))?)(/[^?\#\s]*)?$#i', $url, $part)) {
            throw new \InvalidArgumentException("'$text' is not the URL of a node, such as http://10.0.0.1:7411");
        }
        [, $isTls, $host] = $part;
        $address = ($part[3] ?? '') === '' ? $host . ($isTls ? ':443' : ':80') : $host;
        $socket = ($isTls ? 'ssl' : 'tcp') . "://$address";
        return ['url' => $url, 'socket' => $socket, 'host' => $host, 'path' => $part[4] ?? ''];
    }

    /**
     * Asks node after node for as long as `$patience` until one accepts.
     *
     * @param callable(): array{string, ?string} $create makes target and body of each attempt
     * @param list<string> $headers
     * @param float $silence for how many seconds one may be silent
     * @return array{Moment, array<string, mixed>} when that request was sent, and the answer
     */
    public function ask(string $method, callable $create, array $headers, float $patience, float $silence): array
    {
        return $this->first($patience, fn (Moment $sent) => [
            $sent, $this->send($method, $create(), $headers, $sent, $silence),
        ]);
    }

    /**
     * The lines of an answer that has no end, until it breaks off or is silent for `$pause` seconds.
     *
     * @param list<string> $headers
     * @return \Generator<int, string>
     */
    public function lines(string $target, array $headers, float $patience, float $silence, int $pause): \Generator
    {
        [$stream, $head] = $this->first($patience, function (Moment $sent) use ($target, $headers, $silence) {
            [$stream, $status, $head] = $this->open('GET', $target, $headers, null, $sent, $silence);
            if ($status !== 200 || !preg_match('#^Content-Type: *text/event-stream#mi', $head)) {
                throw $this->refusal($status, $this->rest($stream, $head, $sent, $silence));
            }
            return [$stream, $head];
        });
        stream_set_timeout($stream, $pause);
        $isChunked = self::isChunked($head); // A filter would wait until its buffer is full.
        for ($text = '';; $text .= $piece) {
            for (; ($end = strpos($text, "\n")) !== false; $text = substr($text, $end + 1)) {
                yield substr($text, 0, $end);
            }
            $bytes = $isChunked ? hexdec(strtok((string) fgets($stream), ";\r\n") ?: '0') : 8192;
            $piece = match (true) {
                $bytes === 0 => '',
                $isChunked => substr((string) stream_get_contents($stream, $bytes + 2), 0, $bytes),
                default => (string) fread($stream, $bytes),
            };
            if ($piece === '') {
                return;
            }
        }
    }

    private static function isChunked(string $head): bool
    {
        return preg_match('/^Transfer-Encoding: *chunked/mi', $head) === 1;
    }

    /** What the first node returns that can serve. Throws the failure of the last one when `$patience` is over. */
    private function first(float $patience, callable $attempt): mixed
    {
        $began = new Moment();
        for ($attempts = 1, $pause = 0.05;; $attempts++) {
            try {
                return $attempt(new Moment());
            } catch (HoldfastException $error) {
                if (!$error->isRepeatable()) {
                    throw $error;
                }
                $this->at = ($this->at + 1) % count($this->nodes);
                if ($attempts % count($this->nodes) === 0) {
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

    /**
     * @param array{string, ?string} $wish target and body
     * @param list<string> $headers
     * @return array<string, mixed>
     */
    private function send(string $method, array $wish, array $headers, Moment $sent, float $silence): array
    {
        [$stream, $status, $head] = $this->open($method, $wish[0], $headers, $wish[1], $sent, $silence);
        $answer = $this->rest($stream, $head, $sent, $silence);
        // Only a proxy answers anything but JSON, which is not a success whatever its status says.
        if ($answer !== null && ($status === 200 || $status === 202)) {
            return $answer;
        }
        throw $this->refusal($status, $answer);
    }

    /**
     * Sends one request and reads the head of its answer.
     *
     * @param list<string> $headers
     * @return array{resource, int, string} what follows the head, its status, and itself
     */
    private function open(
        string $method,
        string $target,
        array $headers,
        ?string $body,
        Moment $sent,
        float $silence,
    ): array {
        ['url' => $url, 'socket' => $socket, 'host' => $host, 'path' => $path] = $this->nodes[$this->at];
        $lines = [
            "$method $path$target HTTP/1.1", "Host: $host", 'Connection: close', ...$headers,
            ...($this->token === '' ? [] : ["Authorization: Bearer $this->token"]),
            ...($body === null ? [] : ['Content-Type: application/json']),
            ...($method === 'GET' ? [] : ['Content-Length: ' . strlen($body ?? '')]),
        ];
        if (preg_grep('/[\r\n\0]/', $lines) !== []) {
            throw new \InvalidArgumentException('a name or an access token has more than one line');
        }
        $context = stream_context_create(['ssl' => $this->ssl]);
        $seconds = min(self::CONNECT, $silence);
        $warnings = [];
        set_error_handler(static function (int $level, string $text) use (&$warnings): bool {
            $warnings[] = str_replace("\n", ' ', $text); // The first one has the reason of a failure of TLS.
            return true;
        });
        try {
            $stream = stream_socket_client($socket, $number, $text, $seconds, STREAM_CLIENT_CONNECT, $context);
        } finally {
            restore_error_handler();
        }
        if ($stream === false) {
            $why = $text !== '' ? $text : ($warnings[0] ?? 'nobody is there');
            throw new HoldfastException('UNAVAILABLE', "$url cannot be reached: $why");
        }
        @fwrite($stream, implode("\r\n", $lines) . "\r\n\r\n$body");
        for ($head = ''; !str_ends_with($head, "\r\n\r\n"); $head .= $byte) {
            $byte = $this->read($stream, 1, $sent, $silence);
            if ($byte === '' || strlen($head) >= self::HEAD_BYTES_MAX || $sent->age() >= $silence) {
                throw new HoldfastException('UNAVAILABLE', "$url does not answer");
            }
        }
        if (!preg_match('#^HTTP/1\.\d (\d{3})#', $head, $found)) {
            throw new HoldfastException('UNAVAILABLE', "$url does not speak HTTP");
        }
        return [$stream, (int) $found[1], $head];
    }

    /**
     * Reads an answer to its end.
     *
     * @param resource $stream
     * @return array<string, mixed>|null `null`: it is not JSON
     */
    private function rest(mixed $stream, string $head, Moment $sent, float $silence): ?array
    {
        if (self::isChunked($head)) {
            stream_filter_append($stream, 'dechunk', STREAM_FILTER_READ);
        }
        // A proxy may keep the connection open: so no longer than the answer is.
        $length = preg_match('/^Content-Length: *(\d+)/mi', $head, $found) ? (int) $found[1] : null;
        $text = '';
        while (strlen($text) < ($length ?? INF) && !feof($stream) && $sent->age() < $silence) {
            $text .= $this->read($stream, 8192, $sent, $silence);
        }
        $isWhole = $length === null ? feof($stream) : strlen($text) === $length;
        fclose($stream);
        if (!$isWhole) {
            throw new HoldfastException('UNAVAILABLE', "{$this->nodes[$this->at]['url']} did not answer to the end");
        }
        $answer = json_decode($text, true);
        return is_array($answer) ? $answer : null;
    }

    /**
     * Time limits of streams are for each piece: an answer that drips would never be over.
     *
     * @param resource $stream
     */
    private function read(mixed $stream, int $bytes, Moment $sent, float $silence): string
    {
        $left = max(0.001, $silence - $sent->age());
        stream_set_timeout($stream, (int) $left, (int) (1e6 * fmod($left, 1)));
        return (string) @fread($stream, $bytes);
    }

    /** @param array<string, mixed>|null $answer */
    private function refusal(int $status, ?array $answer): HoldfastException
    {
        $code = $answer['code'] ?? (in_array($status, [500, 502, 503, 504], true) ? 'UNAVAILABLE' : 'PROTOCOL');
        $detail = $answer['detail'] ?? "status $status";
        return new HoldfastException($code, $detail, $status, $answer['details']['reason'] ?? null);
    }
}
