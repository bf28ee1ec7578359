import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;

/** ShedLock, which says nothing about a release. It releases by the value of the lock only with safeUpdate. */
final class ByShedLock implements UserLock {
  private static final String ENVIRONMENT = "test";

  private final LockProvider provider;
  private final String name;
  private final Duration ttl;
  private SimpleLock lock;

  private ByShedLock(LockProvider provider, String name, long ttlMs) {
    this.provider = provider;
    this.name = name;
    this.ttl = Duration.ofMillis(ttlMs);
  }

  static ByShedLock safe(List<String> addresses, String name, long ttlMs) {
    var builder = new RedisLockProvider.Builder(Connections.spring(addresses)).environment(ENVIRONMENT);
    return new ByShedLock(builder.safeUpdate(true).build(), name, ttlMs);
  }

  static ByShedLock unsafe(List<String> addresses, String name, long ttlMs) {
    return new ByShedLock(new RedisLockProvider(Connections.spring(addresses), ENVIRONMENT), name, ttlMs);
  }

  @Override
  public boolean take() {
    var configuration = new LockConfiguration(Instant.now(), name, ttl, Duration.ZERO);
    Optional<SimpleLock> taken = provider.lock(configuration);
    taken.ifPresent(each -> lock = each);
    return taken.isPresent();
  }

  @Override
  public boolean extend() {
    Optional<SimpleLock> extended = lock.extend(ttl, Duration.ZERO);
    extended.ifPresent(each -> lock = each);
    return extended.isPresent();
  }

  @Override
  public Object release() {
    try {
      lock.unlock();
      return "done";
    } catch (IllegalStateException error) {
      // This user has released it already.
      return false;
    }
  }
}
