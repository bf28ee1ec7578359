import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.List;
import java.util.UUID;

/** A lock by hand with Lettuce. */
final class ByLettuce implements UserLock {
  private final RedisCommands<String, String> commands;
  private final String key;
  private final long ttlMs;
  private final String value = UUID.randomUUID().toString();

  ByLettuce(List<String> addresses, String key, long ttlMs) {
    this.commands = Connections.lettuce(addresses).sync();
    this.key = key;
    this.ttlMs = ttlMs;
  }

  @Override
  public boolean take() {
    return commands.set(key, value, SetArgs.Builder.nx().px(ttlMs)) != null;
  }

  @Override
  public boolean extend() {
    return eval(ByJedis.EXTEND, value, String.valueOf(ttlMs)) == 1;
  }

  @Override
  public Object release() {
    return eval(ByJedis.RELEASE, value) == 1;
  }

  private long eval(String script, String... values) {
    return commands.<Long>eval(script, ScriptOutputType.INTEGER, new String[] {key}, values);
  }
}
