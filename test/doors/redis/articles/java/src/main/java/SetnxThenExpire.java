import redis.clients.jedis.Jedis;

/** Takes by two commands: SETNX, and then EXPIRE; who ends between them leaves a lock without an end. */
final class SetnxThenExpire {
  private static final String KEY = "article:setnx-then-expire";

  private final Jedis jedis;
  private final String value = Articles.unique();
  private final int seconds;

  private SetnxThenExpire(String host, int port, int seconds) {
    this.jedis = new Jedis(host, port);
    this.seconds = seconds;
  }

  private boolean take() {
    if (jedis.setnx(KEY, value) == 0) return false;
    return jedis.expire(KEY, seconds) == 1;
  }

  private boolean release() {
    if (!value.equals(jedis.get(KEY))) return false;
    return jedis.del(KEY) == 1;
  }

  static void run(String host, int port) throws Exception {
    var alice = new SetnxThenExpire(host, port, Articles.LONG_S);
    var bob = new SetnxThenExpire(host, port, Articles.BRIEF_S);
    Articles.tell("alice takes", alice::take);
    Articles.tell("is there", () -> alice.jedis.exists(KEY));
    Articles.tell("bob takes", bob::take);
    Articles.tell("bob releases", bob::release);
    Articles.tell("alice releases", alice::release);
    Articles.tell("bob takes, and never releases", bob::take);
    Articles.tell("alice takes in the end", () -> Articles.inTheEnd(alice::take));
    Articles.tell("bob releases", bob::release);
    Articles.tell("alice releases", alice::release);
  }
}
