import java.util.List;
import java.util.UUID;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.params.SetParams;

/** A lock by hand with Jedis. */
final class ByJedis implements UserLock {
  static final String EXTEND =
      "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end";
  static final String RELEASE =
      "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

  private final UnifiedJedis jedis;
  private final String key;
  private final long ttlMs;
  private final String value = UUID.randomUUID().toString();

  ByJedis(List<String> addresses, String key, long ttlMs) {
    this.jedis = Connections.jedis(addresses);
    this.key = key;
    this.ttlMs = ttlMs;
  }

  @Override
  public boolean take() {
    return jedis.set(key, value, SetParams.setParams().nx().px(ttlMs)) != null;
  }

  @Override
  public boolean extend() {
    return jedis.eval(EXTEND, List.of(key), List.of(value, String.valueOf(ttlMs))).equals(1L);
  }

  @Override
  public Object release() {
    return jedis.eval(RELEASE, List.of(key), List.of(value)).equals(1L);
  }
}
