import com.hazelcast.client.HazelcastClient;
import com.hazelcast.client.config.ClientConfig;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.cp.lock.FencedLock;
import java.util.ArrayList;
import java.util.List;

/**
 * Locks of Hazelcast's consensus groups (`FencedLock`). A lock belongs to a thread, so each worker has
 * one.
 */
final class HazelcastLoad extends Load {
  public static void main(String[] arguments) {
    System.setProperty("hazelcast.logging.type", "none");
    new HazelcastLoad().serve();
  }

  @Override
  void begin() {
    List<HazelcastInstance> clients = new ArrayList<>();
    for (int index = 0; index < connections; index++) clients.add(connect());
    // The first one forms the group that agrees on them.
    FencedLock first = clients.get(0).getCPSubsystem().getLock(keyOf(0));
    first.lock();
    first.unlock();
    for (int worker = 0; worker < workers; worker++) {
      String key = keyOf(worker);
      FencedLock lock = clients.get(worker % connections).getCPSubsystem().getLock(key);
      Thread thread = new Thread(() -> work(key, lock));
      thread.setDaemon(true);
      thread.start();
    }
  }

  private HazelcastInstance connect() {
    ClientConfig config = new ClientConfig();
    config.getNetworkConfig().setAddresses(addresses);
    config.getConnectionStrategyConfig().getConnectionRetryConfig().setClusterConnectTimeoutMillis(20_000);
    return HazelcastClient.newHazelcastClient(config);
  }

  private void work(String key, FencedLock lock) {
    for (; ; ) {
      try {
        long beganNanos = System.nanoTime();
        long token = lock.lockAndGetFence();
        granted(key, token, beganNanos);
        releasing(key);
        lock.unlock();
        released();
      } catch (RuntimeException error) {
        failed(error.toString());
        pause(ERROR_PAUSE_MS);
      }
    }
  }
}
