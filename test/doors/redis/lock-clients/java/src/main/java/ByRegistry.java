import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.List;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;

/** The lock registry of Spring Integration, which asks again and again, or hears of releases. */
final class ByRegistry implements UserLock {
  private final RedisLockRegistry registry;
  private final String key;

  private ByRegistry(List<String> addresses, String key, long ttlMs, RedisLockType type) {
    this.registry = new RedisLockRegistry(Connections.spring(addresses), "registry", Duration.ofMillis(ttlMs));
    this.registry.setRedisLockType(type);
    this.key = key;
  }

  static ByRegistry spinning(List<String> addresses, String key, long ttlMs) {
    return new ByRegistry(addresses, key, ttlMs, RedisLockType.SPIN_LOCK);
  }

  static ByRegistry notified(List<String> addresses, String key, long ttlMs) {
    return new ByRegistry(addresses, key, ttlMs, RedisLockType.PUB_SUB_LOCK);
  }

  @Override
  public boolean take() {
    return registry.obtain(key).tryLock();
  }

  @Override
  public boolean extend() {
    registry.renewLock(key);
    return true;
  }

  @Override
  public Object release() {
    try {
      registry.obtain(key).unlock();
      return true;
    } catch (ConcurrentModificationException | IllegalStateException error) {
      // It has expired, or this thread does not hold it.
      return false;
    }
  }
}
