import redis.clients.jedis.Jedis;
import redis.clients.jedis.params.SetParams;

/** Takes by one command and releases by two: GET, and DEL if the value is its own. */
final class SetThenDel {
  private final Jedis jedis;
  private final String value = Articles.unique();
  private final int seconds;

  private SetThenDel(String host, int port, int seconds) {
    this.jedis = new Jedis(host, port);
    this.seconds = seconds;
  }

  private boolean take(String key) {
    return "OK".equals(jedis.set(key, value, SetParams.setParams().nx().ex(seconds)));
  }

  private boolean release(String key) {
    if (!value.equals(jedis.get(key))) return false;
    return jedis.del(key) == 1;
  }

  static void run(String host, int port) throws Exception {
    var alice = new SetThenDel(host, port, Articles.LONG_S);
    var bob = new SetThenDel(host, port, Articles.LONG_S);
    var carol = new SetThenDel(host, port, Articles.BRIEF_S);
    String ended = "article:ended";
    String first = "article:set-then-del:1";
    String second = "article:set-then-del:2";
    Articles.tell("carol takes, and never releases", () -> carol.take(ended));
    Articles.tell("bob takes in the end", () -> Articles.inTheEnd(() -> bob.take(ended)));
    Articles.tell("carol releases", () -> carol.release(ended));
    Articles.tell("alice takes", () -> alice.take(first));
    Articles.tell("bob takes", () -> bob.take(first));
    Articles.tell("bob releases", () -> bob.release(first));
    Articles.tell("alice releases", () -> alice.release(first));
    Articles.tell("alice takes the next one", () -> alice.take(second));
    Articles.tell("bob takes the next one", () -> bob.take(second));
    Articles.tell("alice releases the next one", () -> alice.release(second));
  }
}
