package dev.holdfast;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/**
 * A lock as a {@link java.util.concurrent.locks.Lock}: it belongs to the thread that took it, which may take it again,
 * and has to unlock it as often. Threads of one process exclude each other as processes do, in the queue of the
 * cluster.
 *
 * <p>It differs from a lock within a process in one thing: it can be lost. Then {@link #unlock}, {@link #check} and a
 * further {@link #lock} of the same thread throw {@link LockLostException}. A thread that ends without unlocking keeps
 * the lock until the {@link Client} is closed.
 */
public final class ThreadLock implements java.util.concurrent.locks.Lock {
  private final LockRequest request;
  private final Client client;
  private final Object key;

  ThreadLock(LockRequest request) {
    this.request = request;
    client = request.client;
    key = request.items.get(0).get("key");
  }

  /** What a thread holds; used by no other. */
  static final class Hold {
    private final Lock lock;
    private int count = 1;

    private Hold(Lock lock) {
      this.lock = lock;
    }
  }

  /**
   * Waits for the lock without end. An interrupt does not end the wait, and stays for later.
   *
   * @throws LockLostException if this thread has held the lock, and lost it
   * @throws HoldfastException the codes of {@link LockRequest#acquire}, except {@code LOCK_HELD} and {@code
   *     LOCK_TIMEOUT}
   */
  @Override
  public void lock() {
    if (!isAgain()) begin(request.acquireUninterruptibly());
  }

  /**
   * Waits for the lock without end.
   *
   * @throws InterruptedException if the thread is interrupted; it leaves the queue
   * @throws LockLostException if this thread has held the lock, and lost it
   * @throws HoldfastException the codes of {@link LockRequest#acquire}, except {@code LOCK_HELD} and {@code
   *     LOCK_TIMEOUT}
   */
  @Override
  public void lockInterruptibly() throws InterruptedException {
    if (!isAgain()) begin(request.acquire());
  }

  /**
   * Takes the lock if it can be had at once.
   *
   * @return whether this thread has it now
   * @throws LockLostException if this thread has held the lock, and lost it
   * @throws UnavailableException if no node could serve the request within the patience of the client
   * @throws HoldfastException the codes of {@link LockRequest#acquire}
   */
  @Override
  public boolean tryLock() {
    if (isAgain()) return true;
    try {
      begin(request.waitUpTo(Duration.ZERO).acquireUninterruptibly());
      return true;
    } catch (LockHeldException held) {
      return false;
    }
  }

  /**
   * Waits for the lock for some time.
   *
   * @param time zero or less: not at all
   * @param unit of the time
   * @return whether this thread has it now
   * @throws InterruptedException if the thread is interrupted; it leaves the queue
   * @throws LockLostException if this thread has held the lock, and lost it
   * @throws UnavailableException if no node could serve the request in this time
   * @throws HoldfastException the codes of {@link LockRequest#acquire}
   */
  @Override
  public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
    if (isAgain()) return true;
    try {
      begin(request.waitUpTo(Duration.ofMillis(Math.max(0, unit.toMillis(time)))).acquire());
      return true;
    } catch (LockHeldException | LockTimeoutException notInTime) {
      return false;
    }
  }

  /**
   * Gives the lock back, when it has been called as often as the lock was taken. If no node serves, the lock ends with
   * its lease.
   *
   * @throws IllegalMonitorStateException if this thread does not have the lock
   * @throws LockLostException if the lock was lost: what was done under it may have been done twice. It counts as
   *     unlocked
   */
  @Override
  public void unlock() {
    Hold hold = own();
    hold.count--;
    if (hold.count > 0) {
      hold.lock.check();
      return;
    }
    client.holdsOfThreads.remove(me());
    hold.lock.close();
  }

  /**
   * There are no conditions.
   *
   * @throws UnsupportedOperationException always
   */
  @Override
  public Condition newCondition() {
    throw new UnsupportedOperationException("a lock of a cluster has no conditions");
  }

  /**
   * The fencing token of what this thread holds; it stays the same when the thread takes the lock again.
   *
   * @return {@link Lock#token}
   * @throws IllegalMonitorStateException if this thread does not have the lock
   */
  public long token() {
    return own().lock.token();
  }

  /**
   * Throws unless this thread holds the lock now.
   *
   * @throws IllegalMonitorStateException if this thread does not have the lock
   * @throws LockLostException if it has lost it
   */
  public void check() {
    own().lock.check();
  }

  /**
   * How often this thread has to unlock it.
   *
   * @return 0 if this thread does not have the lock
   */
  public int holdCount() {
    Hold hold = client.holdsOfThreads.get(me());
    return hold == null ? 0 : hold.count;
  }

  private boolean isAgain() {
    Hold hold = client.holdsOfThreads.get(me());
    if (hold == null) return false;
    hold.lock.check();
    hold.count++;
    return true;
  }

  private void begin(Lock lock) {
    client.holdsOfThreads.put(me(), new Hold(lock));
  }

  private Hold own() {
    Hold hold = client.holdsOfThreads.get(me());
    if (hold == null) throw new IllegalMonitorStateException("this thread does not have the lock " + key);
    return hold;
  }

  private List<Object> me() {
    return List.of(key, Thread.currentThread());
  }
}
