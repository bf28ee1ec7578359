import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.JedisSentineled;
import redis.clients.jedis.UnifiedJedis;

/** The connection of one user. Several addresses are asked as sentinels. */
final class Connections {
  private static final String MASTER = "mymaster";
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private Connections() {}

  static UnifiedJedis jedis(List<String> addresses) {
    if (addresses.size() == 1) return new JedisPooled(HostAndPort.from(addresses.get(0)));
    Set<HostAndPort> sentinels = addresses.stream().map(HostAndPort::from).collect(Collectors.toSet());
    var configuration = DefaultJedisClientConfig.builder().build();
    return new JedisSentineled(MASTER, configuration, sentinels, configuration);
  }

  static StatefulRedisConnection<String, String> lettuce(List<String> addresses) {
    var builder = RedisURI.builder().withTimeout(TIMEOUT);
    for (String address : addresses) {
      HostAndPort server = HostAndPort.from(address);
      if (addresses.size() == 1) builder.withHost(server.getHost()).withPort(server.getPort());
      else builder.withSentinel(server.getHost(), server.getPort());
    }
    if (addresses.size() > 1) builder.withSentinelMasterId(MASTER);
    return RedisClient.create(builder.build()).connect();
  }

  static LettuceConnectionFactory spring(List<String> addresses) {
    var configuration = LettuceClientConfiguration.builder().commandTimeout(TIMEOUT).build();
    LettuceConnectionFactory factory;
    if (addresses.size() == 1) {
      HostAndPort server = HostAndPort.from(addresses.get(0));
      var standalone = new RedisStandaloneConfiguration(
          server.getHost(), server.getPort());
      factory = new LettuceConnectionFactory(standalone, configuration);
    } else {
      factory = new LettuceConnectionFactory(new RedisSentinelConfiguration(MASTER, Set.copyOf(addresses)), configuration);
    }
    factory.afterPropertiesSet();
    factory.start();
    return factory;
  }
}
