import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * RedissonRedLock and multi locks of two users over several clusters, whose addresses are its arguments. It takes its
 * steps when all clusters are there, and again when the test has given a line, since it has done something to one.
 */
public final class RedissonClusters {
  private static final int WAIT_MS = 500;
  private static final int LEASE_MS = 60_000;

  public static void main(String[] addresses) throws Exception {
    List<RedissonClient> one = clients(addresses);
    List<RedissonClient> two = clients(addresses);
    try (var lines = new Scanner(System.in)) {
      steps(one, two);
      System.out.println("ready");
      while (lines.hasNextLine()) {
        lines.nextLine();
        steps(one, two);
        System.out.println("ready");
      }
    }
    System.exit(0);
  }

  private static List<RedissonClient> clients(String[] addresses) {
    List<RedissonClient> clients = new ArrayList<>();
    for (String address : addresses) {
      Config config = new Config();
      config.useSingleServer().setAddress(address).setConnectionMinimumIdleSize(1)
          .setSubscriptionConnectionMinimumIdleSize(1).setConnectionPoolSize(4)
          .setRetryAttempts(0);
      clients.add(Redisson.create(config));
    }
    return clients;
  }

  private static void steps(List<RedissonClient> one, List<RedissonClient> two) throws Exception {
    steps("RedLock", one, two, RedissonRedLock::new);
    steps("multi lock", one, two, locks -> one.get(0).getMultiLock(locks));
  }

  private static void steps(String what, List<RedissonClient> one, List<RedissonClient> two,
      Function<RLock[], RLock> make) throws Exception {
    RLock alice = make.apply(locks(what, one));
    RLock bob = make.apply(locks(what, two));
    boolean isTaken = tell(what + ": alice takes", () -> takes(alice));
    if (isTaken) {
      tell(what + ": bob takes", () -> takes(bob));
      alice.unlock();
    }
    tell(what + ": bob takes then", () -> takes(bob));
    if (isTaken) bob.unlock();
    tell(what + ": left", () -> {
      int left = 0;
      for (RedissonClient client : one) {
        try {
          if (client.getLock(what).isLocked()) left += 1;
        } catch (Exception error) {
          // This cluster is gone.
        }
      }
      return left;
    });
  }

  private static RLock[] locks(String name, List<RedissonClient> clients) {
    return clients.stream().map(client -> client.getLock(name)).toArray(RLock[]::new);
  }

  /** With all that is not there, it has not come about. */
  private static boolean takes(RLock lock) throws InterruptedException {
    try {
      return lock.tryLock(WAIT_MS, LEASE_MS, TimeUnit.MILLISECONDS);
    } catch (RuntimeException error) {
      return false;
    }
  }

  private static <T> T tell(String what, Callable<T> call) throws Exception {
    T outcome = call.call();
    System.out.println(what + ": " + outcome);
    return outcome;
  }
}
