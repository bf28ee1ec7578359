import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

/**
 * Locks by the recipe of ZooKeeper's documentation: each request creates an ephemeral sequential node
 * under the lock's own node. The lowest number has the lock, every other watches the number right
 * before its own; removing the node releases the lock. The lock's own node is created beforehand.
 * Requests are asynchronous, so workers need no threads.
 */
final class ZooKeeperLoad extends Load {
  private static final int SESSION_MS = 30_000;
  private static final long CONNECT_MS_MAX = 20_000;
  private static final String NODE = "/lock-";
  private static final byte[] NO_DATA = {};
  private static final int ANY_VERSION = -1;

  private final List<ZooKeeper> clients = new ArrayList<>();

  public static void main(String[] arguments) {
    new ZooKeeperLoad().serve();
  }

  @Override
  void begin() throws Exception {
    for (int index = 0; index < connections; index++) clients.add(connect());
    for (String key : keys) make("/" + key);
    for (int worker = 0; worker < workers; worker++) {
      new Worker(clients.get(worker % connections), keyOf(worker)).acquire();
    }
  }

  private ZooKeeper connect() throws Exception {
    CountDownLatch connected = new CountDownLatch(1);
    ZooKeeper client =
        new ZooKeeper(
            String.join(",", addresses),
            SESSION_MS,
            event -> {
              if (event.getState() == KeeperState.SyncConnected) connected.countDown();
            });
    if (!connected.await(CONNECT_MS_MAX, TimeUnit.MILLISECONDS)) {
      throw new IllegalStateException("ZooKeeper does not answer");
    }
    return client;
  }

  private void make(String path) throws Exception {
    for (int end = path.indexOf('/', 1); ; end = path.indexOf('/', end + 1)) {
      String part = end < 0 ? path : path.substring(0, end);
      try {
        clients.get(0).create(part, NO_DATA, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
      } catch (KeeperException.NodeExistsException error) {
        // A lock before it has the same parents.
      }
      if (end < 0) return;
    }
  }

  /** One closed loop; each step begins in the answer to the one before. */
  private final class Worker {
    private final ZooKeeper client;
    private final String key;
    private final String parent;
    private long beganNanos;
    private String own;

    Worker(ZooKeeper client, String key) {
      this.client = client;
      this.key = key;
      this.parent = "/" + key;
    }

    void acquire() {
      beganNanos = System.nanoTime();
      client.create(
          parent + NODE,
          NO_DATA,
          Ids.OPEN_ACL_UNSAFE,
          CreateMode.EPHEMERAL_SEQUENTIAL,
          (code, path, context, name) -> {
            if (code != Code.OK.intValue()) {
              again(code);
              return;
            }
            own = name.substring(parent.length() + 1);
            look();
          },
          null);
    }

    private void look() {
      client.getChildren(
          parent,
          false,
          (code, path, context, nodes) -> {
            if (code != Code.OK.intValue()) {
              again(code);
              return;
            }
            String before = null;
            for (String node : nodes) {
              boolean isBefore = node.compareTo(own) < 0;
              if (isBefore && (before == null || node.compareTo(before) > 0)) before = node;
            }
            if (before == null) release();
            else outlast(parent + "/" + before);
          },
          null);
    }

    private void outlast(String node) {
      client.exists(
          node,
          event -> look(),
          (code, path, context, found) -> {
            if (code == Code.NONODE.intValue()) look();
            else if (code != Code.OK.intValue()) again(code);
          },
          null);
    }

    private void release() {
      granted(key, Long.parseLong(own.substring(NODE.length() - 1)), beganNanos);
      releasing(key);
      client.delete(
          parent + "/" + own,
          ANY_VERSION,
          (code, path, context) -> {
            if (code != Code.OK.intValue()) {
              again(code);
              return;
            }
            released();
            acquire();
          },
          null);
    }

    private void again(int code) {
      failed(Code.get(code).name());
      CompletableFuture.delayedExecutor(ERROR_PAUSE_MS, TimeUnit.MILLISECONDS)
          .execute(this::acquire);
    }
  }
}
