import com.hazelcast.config.Config;
import com.hazelcast.core.Hazelcast;
import com.hazelcast.core.HazelcastInstance;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * One member of three that agree on locks. Arguments: its own port, then the ports of all. It makes
 * the file "ready" where it runs when the three have found each other.
 */
final class HazelcastMember {
  private static final long DISCOVERY_SECONDS_MAX = 60;

  public static void main(String[] arguments) throws Exception {
    List<String> ports = Arrays.asList(arguments).subList(1, arguments.length);
    Config config = new Config();
    config.setProperty("hazelcast.logging.type", "none");
    config.setProperty("hazelcast.phone.home.enabled", "false");
    config.getCPSubsystemConfig().setCPMemberCount(ports.size());
    var network = config.getNetworkConfig();
    network.setPort(Integer.parseInt(arguments[0])).setPortAutoIncrement(false);
    network.getInterfaces().setEnabled(true).addInterface("127.0.0.1");
    network.getJoin().getAutoDetectionConfig().setEnabled(false);
    network.getJoin().getMulticastConfig().setEnabled(false);
    network.getJoin().getTcpIpConfig().setEnabled(true);
    for (String port : ports) network.getJoin().getTcpIpConfig().addMember("127.0.0.1:" + port);
    HazelcastInstance member = Hazelcast.newHazelcastInstance(config);
    var management = member.getCPSubsystem().getCPSubsystemManagementService();
    if (!management.awaitUntilDiscoveryCompleted(DISCOVERY_SECONDS_MAX, TimeUnit.SECONDS)) {
      throw new IllegalStateException("the members do not find each other");
    }
    Files.createFile(Path.of("ready"));
  }
}
