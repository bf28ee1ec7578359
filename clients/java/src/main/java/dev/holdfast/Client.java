package dev.holdfast;

import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;

/**
 * Knows the nodes of a cluster and who the caller is. A program needs one, which all of its threads may share; it opens
 * connections when they are needed. All of its threads are daemons.
 */
public final class Client implements AutoCloseable {
  private static final String LOCAL_ENDPOINTS = "http://127.0.0.1:7411,http://127.0.0.1:7412,http://127.0.0.1:7413";
  private static final long THREAD_IDLE_S = 10;

  final Nodes nodes;

  /** For how long to look for a node, in milliseconds. */
  final long patienceMs;

  /** Runs what may wait: requests that extend locks, and the code of the caller that hears of losses. */
  final Executor workers;

  /** What threads hold by a {@link ThreadLock}, by key and thread. */
  final ConcurrentMap<List<Object>, ThreadLock.Hold> holdsOfThreads = new ConcurrentHashMap<>();

  /** Runs what never waits. */
  private final ScheduledThreadPoolExecutor timer;

  private final Set<Lock> held = ConcurrentHashMap.newKeySet();
  private final Set<Watch> watches = ConcurrentHashMap.newKeySet();

  private Client(Builder builder) {
    List<String> endpoints = new ArrayList<>();
    for (String text : builder.endpoints) {
      for (String each : text.split(",")) endpoints.add(Nodes.endpoint(each));
    }
    nodes = new Nodes(endpoints, builder.accessToken, builder.context);
    patienceMs = builder.patience.toMillis();
    ThreadFactory threads = daemons();
    workers = new ThreadPoolExecutor(
        0, Integer.MAX_VALUE, THREAD_IDLE_S, TimeUnit.SECONDS, new SynchronousQueue<>(), threads);
    timer = new ScheduledThreadPoolExecutor(1, threads, new ThreadPoolExecutor.DiscardPolicy());
    timer.setKeepAliveTime(THREAD_IDLE_S, TimeUnit.SECONDS);
    timer.allowCoreThreadTimeOut(true);
  }

  /**
   * A client as the environment describes it: {@code HOLDFAST_ENDPOINTS} and {@code HOLDFAST_ACCESS_TOKEN}.
   *
   * @return what {@code builder().build()} returns
   * @throws IllegalArgumentException if an endpoint is not a URL
   */
  public static Client create() {
    return builder().build();
  }

  /**
   * Describes a client.
   *
   * @return a builder, for one thread
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Describes a lock: exclusive, with a TTL of 15 seconds, and a wait without end. {@link LockRequest#acquire} takes
   * it.
   *
   * @param key 1 to 512 bytes of UTF-8 without control characters
   * @return a description that never changes
   * @throws IllegalArgumentException if the key is empty, or has half of a surrogate pair
   */
  public LockRequest lock(String key) {
    return new LockRequest(this, key);
  }

  /**
   * The exclusive lock of the key as a {@link java.util.concurrent.locks.Lock}, reentrant by thread, with a TTL of 15
   * seconds. All such locks of one client and key are the same one.
   *
   * @param key 1 to 512 bytes of UTF-8 without control characters
   * @return the lock, which is not taken yet
   * @throws IllegalArgumentException if the key is empty, or has half of a surrogate pair
   */
  public ThreadLock reentrant(String key) {
    return new ThreadLock(lock(key));
  }

  /**
   * As {@link #reentrant(String)}, with another TTL, which counts when a thread takes it for the first time.
   *
   * @param key 1 to 512 bytes of UTF-8 without control characters
   * @param ttl as of {@link LockRequest#ttl}
   * @return the lock, which is not taken yet
   * @throws IllegalArgumentException if key or TTL are not allowed
   */
  public ThreadLock reentrant(String key, Duration ttl) {
    return new ThreadLock(lock(key).ttl(ttl));
  }

  /**
   * What the cluster says of a key: who holds it, who waits for it. It changes nothing.
   *
   * @param key 1 to 512 bytes of UTF-8
   * @return the object of {@code GET /v1/lock}, as {@code docs/reference/openapi.json} describes it, in maps, lists,
   *     {@code String}, {@code Long}, {@code Double}, {@code Boolean} and null; cannot be changed
   * @throws InterruptedException if the thread is interrupted before the answer comes
   * @throws UnavailableException if no node could serve the request within the patience of the client
   * @throws HoldfastException {@code UNAUTHENTICATED}, {@code FORBIDDEN}, {@code INVALID_ARGUMENT} and others
   */
  public Map<String, Object> look(String key) throws InterruptedException {
    return nodes.ask(new Question("GET", "/v1/lock?" + keyOf(key), patienceMs)).body;
  }

  /**
   * Reports changes of keys as they happen, each exactly once, in a thread of its own, across nodes that fail.
   *
   * @param prefix only of keys that begin so; an empty text: of all keys
   * @param observer is called with one change after the other. If it throws, the watch ends
   * @return the watch, to be closed
   */
  public Watch watch(String prefix, Consumer<Change> observer) {
    Watch watch = new Watch(this, prefix, Objects.requireNonNull(observer));
    watches.add(watch);
    workers.execute(watch::run);
    return watch;
  }

  /**
   * Gives back what the client still holds, which is then lost with the reason {@code closed}. Waits of other threads
   * fail with {@code CANCELLED}. Takes at most the patience of the client and five seconds; what is not given back by
   * then ends with its lease. Can be called twice.
   */
  @Override
  public void close() {
    Moment began = new Moment();
    nodes.close();
    for (Watch watch : watches) watch.close();
    List<Lock> last = new ArrayList<>(held);
    for (Lock lock : last) lock.lose("closed");
    for (Lock lock : last) {
      if (began.ageMs() < patienceMs) lock.leave();
    }
    timer.shutdownNow();
  }

  /** From now on {@code close} gives it back. */
  void keep(Lock lock) {
    held.add(lock);
    if (nodes.isClosed()) throw new HoldfastException("CANCELLED", "the client was closed", 0, Map.of());
  }

  void forget(Lock lock) {
    held.remove(lock);
  }

  void forget(Watch watch) {
    watches.remove(watch);
  }

  /** Runs what never waits. */
  void later(Runnable task, long delayMs) {
    timer.schedule(task, delayMs, TimeUnit.MILLISECONDS);
  }

  /** The parameter of a query. */
  static String keyOf(String key) {
    return "key=" + URLEncoder.encode(checkedKey(key), StandardCharsets.UTF_8);
  }

  static String checkedKey(String key) {
    if (key.isEmpty() || !StandardCharsets.UTF_8.newEncoder().canEncode(key)) {
      throw new IllegalArgumentException("a key has at least one character, and no half of a surrogate pair");
    }
    return key;
  }

  private static ThreadFactory daemons() {
    AtomicInteger count = new AtomicInteger();
    return work -> {
      Thread thread = new Thread(work, "holdfast-" + count.incrementAndGet());
      thread.setDaemon(true);
      return thread;
    };
  }

  /** Describes a {@link Client}. */
  public static final class Builder {
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private List<String> endpoints = List.of(environment("HOLDFAST_ENDPOINTS", LOCAL_ENDPOINTS));
    private String accessToken = environment("HOLDFAST_ACCESS_TOKEN", null);
    private SSLContext context;
    private KeyManager[] own;
    private TrustManager[] trusted;
    private Duration patience = PATIENCE;

    private Builder() {}

    /**
     * The nodes, best all of them.
     *
     * @param urls such as {@code http://10.0.0.1:7411} or {@code https://db-1.example:7411}, also several in one text,
     *     with commas; default: {@code HOLDFAST_ENDPOINTS}, else the ports 7411 to 7413 of this machine
     * @return this
     */
    public Builder endpoints(String... urls) {
      if (urls.length == 0) throw new IllegalArgumentException("a client needs the URL of a node");
      endpoints = List.of(urls);
      return this;
    }

    /**
     * Who the program is.
     *
     * @param token the access token; blanks around it do not count; default: {@code HOLDFAST_ACCESS_TOKEN}, else none
     * @return this
     */
    public Builder accessToken(String token) {
      accessToken = token;
      return this;
    }

    /**
     * How nodes at {@code https:} are spoken to, with stores of your own. It counts instead of {@link #trust} and
     * {@link #identity}.
     *
     * @param given default: the one of the JVM
     * @return this
     */
    public Builder sslContext(SSLContext given) {
      context = Objects.requireNonNull(given);
      return this;
    }

    /**
     * Trusts only nodes at {@code https:} whose certificates these CAs have issued, such as the file {@code ca.crt} of
     * {@code holdfast cert}.
     *
     * @param pem a file with one certificate or several
     * @return this
     * @throws IOException if the file cannot be read
     * @throws IllegalArgumentException if it does not contain certificates
     */
    public Builder trust(Path pem) throws IOException {
      trusted = Pem.trust(pem);
      return this;
    }

    /**
     * Who the program is, by a client certificate.
     *
     * @param certificates a file with the certificate, and then those that lead to its CA, as PEM
     * @param key a file with its private key, EC or RSA, as PEM in PKCS #8, without a password
     * @return this
     * @throws IOException if a file cannot be read
     * @throws IllegalArgumentException if the files do not contain that
     */
    public Builder identity(Path certificates, Path key) throws IOException {
      own = Pem.identity(certificates, key);
      return this;
    }

    /**
     * For how long to look for a node that can serve a request. A lock that may wait looks for as long as it may wait
     * instead.
     *
     * @param given default: 10 seconds
     * @return this
     */
    public Builder patience(Duration given) {
      if (given.isNegative()) throw new IllegalArgumentException("patience is not negative");
      patience = given;
      return this;
    }

    /**
     * Opens no connection yet.
     *
     * @return the client, to be closed
     * @throws IllegalArgumentException if an endpoint is not a URL, or the access token not one line of ASCII
     */
    public Client build() {
      if (accessToken != null) {
        accessToken = accessToken.strip();
        // The value stays out of the message.
        boolean isToken = accessToken.chars().allMatch(each -> each > ' ' && each < 127);
        if (!isToken) throw new IllegalArgumentException("an access token has only letters, digits and signs of ASCII");
        if (accessToken.isEmpty()) accessToken = null;
      }
      if (context == null && (own != null || trusted != null)) context = Pem.context(own, trusted);
      return new Client(this);
    }

    private static String environment(String name, String otherwise) {
      String value = System.getenv(name);
      return value == null || value.isBlank() ? otherwise : value;
    }
  }
}
