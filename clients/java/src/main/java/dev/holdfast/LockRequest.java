package dev.holdfast;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Describes a lock of one key, or of several at once, and takes it as often as you like. It never changes: each method
 * returns another description. {@link #shared}, {@link #permits} and {@link #limit} speak of the key that was named
 * last:
 *
 * <pre>{@code
 * client.lock("datasets/2024").shared().and("models/large").and("gpus").permits(2).limit(8).acquire()
 * }</pre>
 */
public final class LockRequest {
  private static final long TTL_MS = 15_000;

  /** A wait without end. */
  static final long FOREVER_MS = Long.MAX_VALUE;

  final Client client;
  final List<Map<String, Object>> items;
  final long ttlMs;
  final long waitMs;

  /** Null: none. */
  final String name;

  LockRequest(Client client, String key) {
    this(client, List.of(Map.of("key", Client.checkedKey(key))), TTL_MS, FOREVER_MS, null);
  }

  private LockRequest(Client client, List<Map<String, Object>> items, long ttlMs, long waitMs, String name) {
    this.client = client;
    this.items = items;
    this.ttlMs = ttlMs;
    this.waitMs = waitMs;
    this.name = name;
  }

  /**
   * One key more. All of them are taken in one step, as one lock with one token, or none is.
   *
   * @param key 1 to 512 bytes of UTF-8; a lock has at most 16 keys
   * @return such a request
   * @throws IllegalArgumentException if the key is empty, or has half of a surrogate pair
   */
  public LockRequest and(String key) {
    List<Map<String, Object>> more = new ArrayList<>(items);
    more.add(Map.of("key", Client.checkedKey(key)));
    return new LockRequest(client, more, ttlMs, waitMs, name);
  }

  /**
   * Takes the last key together with other shared holders.
   *
   * @return such a request
   */
  public LockRequest shared() {
    return withLast("mode", "shared");
  }

  /**
   * Takes permits of the last key, which is a semaphore then.
   *
   * @param count 1 to 1,024; default with a limit: 1
   * @return such a request
   */
  public LockRequest permits(int count) {
    return withLast("permits", count);
  }

  /**
   * Says how many permits the semaphore of the last key has. Every request gives the same number.
   *
   * @param permits 1 to 1,000,000
   * @return such a request
   */
  public LockRequest limit(int permits) {
    return withLast("limit", permits);
  }

  /**
   * How long the lock outlives this process. While the process lives, a thread extends the lock at a third of this
   * time.
   *
   * @param time more than 250 milliseconds, at most the setting {@code leaseTtlMsMax} of the cluster, which is a day by
   *     default; default: 15 seconds; zero: without end, if the setting {@code endlessLeases} allows that
   * @return such a request
   * @throws IllegalArgumentException if it is negative, or shorter than a millisecond and not zero
   */
  public LockRequest ttl(Duration time) {
    if (time.isNegative() || (time.toMillis() == 0 && !time.isZero())) {
      throw new IllegalArgumentException("a TTL is zero, or at least one millisecond");
    }
    return new LockRequest(client, items, time.toMillis(), waitMs, name);
  }

  /**
   * How long {@link #acquire} may wait.
   *
   * @param time zero: not at all; default: forever
   * @return such a request
   * @throws IllegalArgumentException if it is negative
   */
  public LockRequest waitUpTo(Duration time) {
    if (time.isNegative()) throw new IllegalArgumentException("a wait is not negative");
    boolean isForever = time.compareTo(Duration.ofMillis(FOREVER_MS)) >= 0;
    long ms = isForever ? FOREVER_MS : time.toMillis();
    return new LockRequest(client, items, ttlMs, time.isZero() ? 0 : Math.max(1, ms), name);
  }

  /**
   * What others see of the owner: {@code holdfast ls} and {@code look}.
   *
   * @param text at most 256 printable characters of ASCII, since the HTTP client of the JDK sends no others
   * @return such a request
   * @throws IllegalArgumentException if it has other characters
   */
  public LockRequest name(String text) {
    if (!text.chars().allMatch(each -> each >= ' ' && each < 127)) {
      throw new IllegalArgumentException("a name has only printable characters of ASCII");
    }
    return new LockRequest(client, items, ttlMs, waitMs, text);
  }

  /**
   * Takes the lock. A wait that ends otherwise leaves the queue.
   *
   * @return the lock, to be closed in the same block
   * @throws InterruptedException if the thread is interrupted; nothing is held then
   * @throws LockHeldException {@code LOCK_HELD}: it may not wait, and another has the lock or waits for it
   * @throws LockTimeoutException {@code LOCK_TIMEOUT}: it was not granted in time
   * @throws LockLostException {@code LOCK_LOST}: the grant arrived so late that it was over
   * @throws UnavailableException if no node could serve the request for as long as it may wait, or for the patience of
   *     the client if it may not wait
   * @throws HoldfastException {@code QUEUE_FULL}, {@code QUOTA}, {@code WRONG_KIND}, {@code LIMIT_MISMATCH}, {@code
   *     NOT_HELD} if the lock ended before the answer was sent, {@code UNAUTHENTICATED}, {@code FORBIDDEN}, {@code
   *     INVALID_ARGUMENT}, {@code CANCELLED} if the client is closed, and others
   */
  public Lock acquire() throws InterruptedException {
    if (Thread.interrupted()) throw new InterruptedException();
    return new Take(this).orGiveBack(Interruptible::call);
  }

  /**
   * Takes the lock if it can be had at once.
   *
   * @return the lock, to be closed; empty if another has it or waits for it
   * @throws InterruptedException if the thread is interrupted; nothing is held then
   * @throws UnavailableException if no node could serve the request within the patience of the client
   * @throws HoldfastException the codes of {@link #acquire}
   */
  public Optional<Lock> tryAcquire() throws InterruptedException {
    try {
      return Optional.of(waitUpTo(Duration.ZERO).acquire());
    } catch (LockHeldException held) {
      return Optional.empty();
    }
  }

  /** As {@code acquire}; an interrupt stays for later. */
  Lock acquireUninterruptibly() {
    try {
      return new Take(this).orGiveBack(Interruptible::uninterruptibly);
    } catch (InterruptedException never) {
      throw new AssertionError(never);
    }
  }

  private LockRequest withLast(String name, Object value) {
    List<Map<String, Object>> changed = new ArrayList<>(items);
    Map<String, Object> last = new HashMap<>(items.get(items.size() - 1));
    last.put(name, value);
    changed.set(items.size() - 1, last);
    return new LockRequest(client, changed, ttlMs, waitMs, this.name);
  }
}
