import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;

/** A StringRedisTemplate of Spring: asks each 100 ms until it has the lock, and releases by a script. */
final class TemplateLock {
  private static final String KEY = "article:template";
  private static final long PAUSE_MS = 100;
  private static final long PATIENCE_MS = 60_000;
  private static final DefaultRedisScript<Long> RELEASE = new DefaultRedisScript<>("""
      if redis.call('GET', KEYS[1]) == ARGV[1] then
        return redis.call('DEL', KEYS[1])
      else
        return 0
      end
      """, Long.class);

  private final StringRedisTemplate template;
  private final String value = Articles.unique();
  private final long ms;

  private TemplateLock(LettuceConnectionFactory factory, int seconds) {
    this.template = new StringRedisTemplate(factory);
    this.ms = seconds * 1_000L;
  }

  private boolean take(long waitMs) throws InterruptedException {
    long deadline = System.nanoTime() + waitMs * 1_000_000;
    while (true) {
      Boolean isTaken = template.opsForValue().setIfAbsent(KEY, value, ms, TimeUnit.MILLISECONDS);
      if (Boolean.TRUE.equals(isTaken)) return true;
      if (System.nanoTime() > deadline) return false;
      Thread.sleep(PAUSE_MS);
    }
  }

  private Long release() {
    return template.execute(RELEASE, List.of(KEY), value);
  }

  static void run(String host, int port) throws Exception {
    var factory = new LettuceConnectionFactory(host, port);
    factory.afterPropertiesSet();
    factory.start();
    var alice = new TemplateLock(factory, Articles.LONG_S);
    var bob = new TemplateLock(factory, Articles.LONG_S);
    var carol = new TemplateLock(factory, Articles.BRIEF_S);
    Articles.tell("alice takes", () -> alice.take(0));
    Articles.tell("bob gives up", () -> !bob.take(500));
    Articles.tell("bob releases", bob::release);
    Articles.tell("bob takes when alice releases", () -> {
      var waiting = CompletableFuture.supplyAsync(() -> {
        try {
          return bob.take(PATIENCE_MS);
        } catch (InterruptedException error) {
          throw new IllegalStateException(error);
        }
      });
      return alice.release() + " " + waiting.get();
    });
    Articles.tell("alice releases again", alice::release);
    Articles.tell("bob releases", bob::release);
    Articles.tell("carol takes, and never releases", () -> carol.take(0));
    Articles.tell("bob takes in the end", () -> bob.take(PATIENCE_MS));
    Articles.tell("carol releases", carol::release);
    Articles.tell("alice takes", () -> alice.take(0));
    Articles.tell("bob releases", bob::release);
    factory.destroy();
  }
}
