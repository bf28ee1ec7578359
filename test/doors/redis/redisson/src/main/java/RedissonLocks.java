import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Locks of Redisson as its users use them, by two clients; prints what each call came to.
 *
 * `single <address>`: all kinds of locks at one server. `forced <address>`: forceUnlock.
 */
public final class RedissonLocks {
  private static final int WATCHDOG_MS = 3_000;
  private static final List<RedissonClient> CLIENTS = new ArrayList<>();

  public static void main(String[] args) throws Exception {
    RedissonClient one = client(args);
    RedissonClient two = client(args);
    switch (args[0]) {
      case "single" -> {
        locks(one, two);
        fenced(one, two);
        readWrite(one, two);
        several(one, two);
        refused(one);
      }
      case "forced" -> forced(one, two);
      default -> throw new IllegalArgumentException(args[0]);
    }
    for (RedissonClient client : CLIENTS) client.shutdown();
  }

  private static RedissonClient client(String[] args) {
    Config config = new Config();
    config.setLockWatchdogTimeout(WATCHDOG_MS);
    config.useSingleServer().setAddress(args[1]).setConnectionMinimumIdleSize(1)
        .setSubscriptionConnectionMinimumIdleSize(1).setConnectionPoolSize(8);
    RedissonClient client = Redisson.create(config);
    CLIENTS.add(client);
    return client;
  }

  private static void tell(String what, Callable<?> call) {
    String outcome;
    try {
      outcome = String.valueOf(call.call());
    } catch (Throwable error) {
      Throwable cause = error;
      while (cause.getCause() != null) cause = cause.getCause();
      String message = String.valueOf(cause.getMessage());
      String first = message.contains("NOHOLDFAST") ? " NOHOLDFAST" : "";
      outcome = cause.getClass().getSimpleName() + first;
    }
    System.out.println(what + ": " + outcome);
  }

  private static Object done(Runnable action) {
    action.run();
    return "done";
  }

  /** What another thread comes to. */
  private static <T> T elsewhere(Callable<T> call) throws Exception {
    var thread = Executors.newSingleThreadExecutor();
    try {
      return thread.submit(call).get(60, TimeUnit.SECONDS);
    } finally {
      thread.shutdown();
    }
  }

  private static boolean tries(RLock lock) throws InterruptedException {
    return lock.tryLock(1_000, 2_000, TimeUnit.MILLISECONDS);
  }

  private static void locks(RedissonClient one, RedissonClient two) {
    RLock lock = one.getLock("lock");
    RLock other = two.getLock("lock");
    tell("lock with a lease", () -> done(() -> lock.lock(10, TimeUnit.SECONDS)));
    tell("is locked", other::isLocked);
    tell("is held here", lock::isHeldByCurrentThread);
    tell("is held there", other::isHeldByCurrentThread);
    tell("is held by another thread", () -> elsewhere(lock::isHeldByCurrentThread));
    tell("remains", () -> lock.remainTimeToLive() > 5_000 && lock.remainTimeToLive() <= 10_000);
    tell("again", () -> done(() -> lock.lock(10, TimeUnit.SECONDS)));
    tell("count", lock::getHoldCount);
    tell("try of another", other::tryLock);
    tell("try of another thread", () -> elsewhere(() -> lock.tryLock()));
    tell("try with a wait", () -> tries(other));
    tell("unlock of another", () -> done(other::unlock));
    tell("unlock", () -> done(lock::unlock));
    tell("count after it", lock::getHoldCount);
    tell("a waiter is woken", () -> {
      var waiting = CompletableFuture.supplyAsync(() -> {
        other.lock();
        other.unlock();
        return "woken";
      });
      Thread.sleep(500);
      lock.unlock();
      return waiting.get(3, TimeUnit.SECONDS);
    });
    tell("unlock of what is free", () -> done(lock::unlock));
    tell("watchdog", () -> {
      lock.lock();
      Thread.sleep(WATCHDOG_MS * 3 / 2);
      return lock.isHeldByCurrentThread() && !other.tryLock();
    });
    tell("unlock of it", () -> done(lock::unlock));
    tell("a lease ends", () -> {
      lock.lock(300, TimeUnit.MILLISECONDS);
      other.lock(2, TimeUnit.SECONDS);
      return lock.isHeldByCurrentThread() + " " + other.isHeldByCurrentThread();
    });
    tell("unlock of the next one", () -> done(other::unlock));
    tell("asynchronous", () -> {
      lock.lockAsync(10, TimeUnit.SECONDS, 77).get();
      boolean isHeld = lock.isHeldByThread(77);
      lock.unlockAsync(77).get();
      return isHeld + " " + lock.isHeldByThread(77);
    });
  }

  private static void fenced(RedissonClient one, RedissonClient two) {
    RFencedLock lock = one.getFencedLock("fenced");
    RFencedLock other = two.getFencedLock("fenced");
    Long[] tokens = new Long[2];
    tell("fenced", () -> {
      tokens[0] = lock.lockAndGetToken();
      return tokens[0] > 0;
    });
    tell("its token while it is held", () -> tokens[0].equals(other.getToken()));
    tell("fenced again", () -> lock.lockAndGetToken() >= tokens[0]);
    tell("fenced, held", () -> other.tryLockAndGetToken(1_000, 3_000, TimeUnit.MILLISECONDS));
    tell("fenced unlocks", () -> {
      lock.unlock();
      lock.unlock();
      return lock.isLocked();
    });
    tell("the next token is larger", () -> {
      tokens[1] = other.tryLockAndGetToken(1_000, 3_000, TimeUnit.MILLISECONDS);
      other.unlock();
      return tokens[1] > tokens[0];
    });
    tell("fenced without its token", () -> {
      lock.lock();
      lock.unlock();
      return lock.tryLock();
    });
    tell("fenced unlock", () -> done(lock::unlock));
  }

  private static void readWrite(RedissonClient one, RedissonClient two) {
    RReadWriteLock lock = one.getReadWriteLock("rw");
    RReadWriteLock other = two.getReadWriteLock("rw");
    RLock read = lock.readLock();
    RLock write = lock.writeLock();
    tell("read", () -> done(() -> read.lock(10, TimeUnit.SECONDS)));
    tell("read again", () -> done(() -> read.lock(10, TimeUnit.SECONDS)));
    tell("another reads", () -> other.readLock().tryLock(1_000, 9_000, TimeUnit.MILLISECONDS));
    tell("nobody writes", () -> tries(other.writeLock()));
    tell("nor does a reader", () -> tries(write));
    tell("states", () -> read.isLocked() + " " + write.isLocked() + " " + read.getHoldCount());
    tell("read unlocks", () -> {
      read.unlock();
      read.unlock();
      return read.isHeldByCurrentThread() + " " + other.readLock().isLocked();
    });
    tell("the last reader goes", () -> {
      other.readLock().unlock();
      return read.isLocked();
    });
    tell("write", () -> done(() -> write.lock()));
    tell("write again", () -> done(() -> write.lock()));
    tell("nobody reads", () -> tries(other.readLock()));
    tell("but the writer", () -> done(() -> read.lock(9, TimeUnit.SECONDS)));
    tell("watchdog of a writer", () -> {
      Thread.sleep(WATCHDOG_MS * 3 / 2);
      return write.isHeldByCurrentThread() + " " + write.getHoldCount();
    });
    tell("write unlocks, and reads on", () -> {
      write.unlock();
      write.unlock();
      return write.isLocked() + " " + read.isLocked();
    });
    tell("now others read", () -> other.readLock().tryLock(1_000, 9_000, TimeUnit.MILLISECONDS));
    tell("all readers go", () -> {
      other.readLock().unlock();
      read.unlock();
      return read.isLocked();
    });
    tell("a writer is woken by the last reader", () -> {
      read.lock();
      var waiting = CompletableFuture.supplyAsync(() -> {
        other.writeLock().lock();
        other.writeLock().unlock();
        return "woken";
      });
      Thread.sleep(500);
      read.unlock();
      return waiting.get(3, TimeUnit.SECONDS);
    });
    tell("watchdog of a reader", () -> {
      read.lock();
      Thread.sleep(WATCHDOG_MS * 3 / 2);
      boolean isHeld = read.isHeldByCurrentThread();
      read.unlock();
      return isHeld;
    });
    tell("unlock of a lock that nobody has", () -> done(write::unlock));
  }

  private static void several(RedissonClient one, RedissonClient two) {
    RLock three = one.getMultiLock(one.getLock("m1"), one.getLock("m2"), one.getLock("m3"));
    RLock some = two.getMultiLock(two.getLock("m3"), two.getLock("m4"));
    tell("multi", () -> done(() -> three.lock(10, TimeUnit.SECONDS)));
    tell("multi of another", () -> tries(some));
    tell("what it did not get is free", () -> one.getLock("m4").isLocked());
    tell("multi unlock", () -> {
      three.unlock();
      return some.tryLock() + " " + one.getLock("m4").isLocked();
    });
    tell("unlock of the other", () -> done(some::unlock));
    tell("multi with a wait longer than its lease", () -> {
      boolean isTaken = three.tryLock(3, 2, TimeUnit.SECONDS);
      three.unlock();
      return isTaken;
    });
    tell("RedLock", () -> {
      var red = new RedissonRedLock(one.getLock("r1"), two.getLock("r2"), one.getLock("r3"));
      red.lock();
      red.unlock();
      return one.getLock("r1").isLocked();
    });
    RLock spin = one.getSpinLock("spin");
    tell("spin", () -> done(spin::lock));
    tell("spin of another", () -> two.getSpinLock("spin").tryLock(500, TimeUnit.MILLISECONDS));
    tell("spin unlock", () -> done(spin::unlock));
  }

  /** What is not a lock of these kinds, and what it leaves behind. */
  private static void refused(RedissonClient one) {
    tell("fair", () -> done(() -> one.getFairLock("fair").lock(9, TimeUnit.SECONDS)));
    tell("semaphore", () -> one.getSemaphore("semaphore").trySetPermits(2));
    tell("latch", () -> one.getCountDownLatch("latch").trySetCount(1));
    tell("map", () -> one.getMap("map").put("a", "b"));
    tell("a lock after that", () -> {
      RLock lock = one.getLock("after");
      lock.lock();
      lock.unlock();
      return "done";
    });
  }

  private static void forced(RedissonClient one, RedissonClient two) {
    tell("force of what is free", () -> two.getLock("forced").forceUnlock());
    tell("force", () -> {
      one.getLock("forced").lock(30, TimeUnit.SECONDS);
      return two.getLock("forced").forceUnlock() + " " + one.getLock("forced").isLocked();
    });
    tell("force of a reader", () -> {
      one.getReadWriteLock("both").readLock().lock(30, TimeUnit.SECONDS);
      return two.getReadWriteLock("both").readLock().forceUnlock();
    });
    tell("force of a writer", () -> {
      one.getReadWriteLock("both").writeLock().lock(30, TimeUnit.SECONDS);
      return two.getReadWriteLock("both").writeLock().forceUnlock();
    });
    tell("locked after it", () -> one.getLock("forced").tryLock());
  }
}
