import redis.clients.jedis.Jedis;

/**
 * The key has no expiry: its value is the time of day at which the lock ends. Who finds that it is over overwrites the
 * value by GETSET, and has the lock if it gets back what it had found.
 */
final class ExpiryInTheValue {
  private static final String KEY = "article:expiry-in-the-value";

  private final Jedis jedis;
  private final int seconds;
  private String value = "";

  private ExpiryInTheValue(String host, int port, int seconds) {
    this.jedis = new Jedis(host, port);
    this.seconds = seconds;
  }

  private boolean take() {
    String next = String.valueOf(System.currentTimeMillis() + seconds * 1_000L);
    if (jedis.setnx(KEY, next) == 0 && !overwrite(next)) return false;
    value = next;
    return true;
  }

  private boolean overwrite(String next) {
    String found = jedis.get(KEY);
    if (found != null && Long.parseLong(found) >= System.currentTimeMillis()) return false;
    String old = jedis.getSet(KEY, next);
    return old == null ? found == null : old.equals(found);
  }

  private boolean release() {
    if (!value.equals(jedis.get(KEY))) return false;
    return jedis.del(KEY) == 1;
  }

  static void run(String host, int port) throws Exception {
    var alice = new ExpiryInTheValue(host, port, Articles.LONG_S);
    var bob = new ExpiryInTheValue(host, port, Articles.BRIEF_S);
    Articles.tell("alice takes", alice::take);
    Articles.tell("is there", () -> alice.jedis.exists(KEY));
    Articles.tell("bob takes", bob::take);
    Articles.tell("bob releases", bob::release);
    Articles.tell("alice releases", alice::release);
    Articles.tell("alice overwrites what is free", () -> alice.overwrite("0"));
    Articles.tell("bob takes what is over, and never releases", bob::take);
    Articles.tell("alice takes in the end", () -> Articles.inTheEnd(alice::take));
    Articles.tell("bob releases", bob::release);
    Articles.tell("alice releases", alice::release);
  }
}
