package dev.holdfast;

import java.io.IOException;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.SocketAddress;
import java.net.URI;
import java.util.List;

/**
 * Lets the proxy of the JVM (the properties {@code https.proxyHost} and so on) carry what TLS hides, and never an owner
 * in clear text, nor what goes to this machine.
 */
final class ProxyForTls extends ProxySelector {
  @Override
  public List<Proxy> select(URI uri) {
    ProxySelector ofAll = ProxySelector.getDefault();
    boolean isDirect = ofAll == null || !"https".equals(uri.getScheme()) || isThisMachine(uri.getHost());
    return isDirect ? List.of(Proxy.NO_PROXY) : ofAll.select(uri);
  }

  @Override
  public void connectFailed(URI uri, SocketAddress proxy, IOException error) {
    ProxySelector ofAll = ProxySelector.getDefault();
    if (ofAll != null) ofAll.connectFailed(uri, proxy, error);
  }

  private static boolean isThisMachine(String host) {
    return host.equals("localhost") || host.endsWith(".localhost") || host.startsWith("127.") || host.equals("[::1]");
  }
}
