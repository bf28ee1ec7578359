import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.BaseConfig;
import org.redisson.config.Config;

/**
 * Locks of Redisson by two clients while something happens to the nodes. A thread holds a lock twice and a fenced
 * lock, and crowds work in locks of both kinds. "going on" is printed when each client has been granted each kind again
 * and again; then the test does something to a node, and gives a line. After the line "end" it prints what was seen.
 *
 * `single <address>`: one address, of a proxy before the nodes. `sentinels <address> …`: by sentinels.
 */
public final class RedissonFaults {
  /** Longer than what happens to the nodes. */
  private static final int WATCHDOG_MS = 12_000;
  private static final int GRANTS = 10;
  private static final int WORKERS = 2;
  private static final long PAUSE_MS = 20;

  private static final List<Crowd> CROWDS = new ArrayList<>();
  private static volatile boolean isOver;

  public static void main(String[] args) throws Exception {
    RedissonClient one = client(args);
    RedissonClient two = client(args);
    RLock kept = one.getLock("kept");
    kept.lock();
    kept.lock();
    long takenAt = System.nanoTime();
    RFencedLock fenced = one.getFencedLock("fenced");
    long token = fenced.lockAndGetToken();
    var section = new Section();
    var fencedSection = new Section();
    for (RedissonClient client : List.of(one, two)) {
      CROWDS.add(new Crowd(client, section, false));
      CROWDS.add(new Crowd(client, fencedSection, true));
    }
    try (var lines = new Scanner(System.in)) {
      do {
        for (Crowd crowd : CROWDS) crowd.goOn();
        System.out.println("going on");
      } while (!lines.nextLine().equals("end"));
      // Without its watchdog it would be over.
      while (System.nanoTime() < takenAt + WATCHDOG_MS * 1_500_000L) Thread.sleep(PAUSE_MS);
      isOver = true;
      for (Crowd crowd : CROWDS) crowd.join();
      System.out.println("two at once: " + (section.together.get() + fencedSection.together.get()));
      System.out.println("tokens that did not grow: " + fencedSection.shrunk.get());
      System.out.println("tokens are larger than those before: " + (fencedSection.newest.get() > token));
      System.out.println("count of holds: " + kept.getHoldCount());
      System.out.println("another: " + two.getLock("kept").tryLock());
      System.out.println("the token is the same: " + (two.getFencedLock("fenced").getToken() == token));
      System.out.println("fenced: " + one.getId() + ":" + Thread.currentThread().getId() + " " + token);
      // The test looks at them.
      lines.nextLine();
    }
    kept.unlock();
    System.out.println("count of holds then: " + kept.getHoldCount());
    kept.unlock();
    fenced.unlock();
    System.out.println("another then: " + two.getLock("kept").tryLock());
    System.out.println("the next token is larger: " + (two.getFencedLock("fenced").tryLockAndGetToken() > token));
    System.exit(0);
  }

  private static RedissonClient client(String[] args) {
    Config config = new Config();
    config.setLockWatchdogTimeout(WATCHDOG_MS);
    if (args[0].equals("single")) {
      var server = config.useSingleServer().setAddress(args[1]).setConnectionMinimumIdleSize(1)
          .setSubscriptionConnectionMinimumIdleSize(1).setConnectionPoolSize(8);
      patient(server);
    } else {
      var servers = config.useSentinelServers().setMasterName("mymaster").setScanInterval(500)
          .setCheckSentinelsList(false);
      for (int at = 1; at < args.length; at++) servers.addSentinelAddress(args[at]);
      patient(servers);
    }
    return Redisson.create(config);
  }

  /** A user that would rather wait than hear of a failure. */
  private static void patient(BaseConfig<?> server) {
    server.setTimeout(2_000).setRetryAttempts(40).setPingConnectionInterval(1_000);
  }

  /** What only one may be in at a time; all of them are in this process. */
  private static final class Section {
    final AtomicInteger together = new AtomicInteger();
    final AtomicInteger shrunk = new AtomicInteger();
    final AtomicLong newest = new AtomicLong();
    private final AtomicInteger inside = new AtomicInteger();

    void work(long token) throws InterruptedException {
      if (inside.incrementAndGet() > 1) together.incrementAndGet();
      // 0 without a fenced lock.
      if (newest.getAndSet(token) >= token && token > 0) shrunk.incrementAndGet();
      Thread.sleep(5);
      inside.decrementAndGet();
    }
  }

  /** Threads of one client that take a lock again and again. */
  private static final class Crowd {
    private final AtomicInteger grants = new AtomicInteger();
    private final List<Thread> threads = new ArrayList<>();

    Crowd(RedissonClient client, Section section, boolean isFenced) {
      for (int at = 0; at < WORKERS; at++) {
        Thread thread = new Thread(() -> {
          while (!isOver) {
            try {
              if (isFenced) work(client.getFencedLock("fenced crowd"), section);
              else work(client.getLock("crowd"), section);
              grants.incrementAndGet();
            } catch (Exception error) {
              // The node is gone: its users try again.
            }
          }
        });
        threads.add(thread);
        thread.start();
      }
    }

    private static void work(RLock lock, Section section) throws InterruptedException {
      lock.lock();
      try {
        section.work(0);
      } finally {
        release(lock);
      }
    }

    private static void work(RFencedLock lock, Section section) throws InterruptedException {
      long token = lock.lockAndGetToken();
      try {
        section.work(token);
      } finally {
        release(lock);
      }
    }

    /** Redisson repeats a call whose answer was lost, so its lock may be counted twice, as at Redis. */
    private static void release(RLock lock) {
      do lock.unlock();
      while (lock.isHeldByCurrentThread());
    }

    void goOn() throws InterruptedException {
      int before = grants.get();
      while (grants.get() < before + GRANTS) Thread.sleep(PAUSE_MS);
    }

    void join() throws InterruptedException {
      for (Thread thread : threads) thread.join();
    }
  }
}
