package dev.holdfast;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;

/**
 * The nodes of a cluster, and how they are asked: one after the other, until one accepts. It repeats what may be
 * repeated and nothing else, follows no redirect, and sends nothing to a proxy in clear text.
 */
final class Nodes {
  /** The longest that a node may take to answer a request that does not wait. */
  static final long ANSWER_MS = 5_000;

  /** The statuses of a node that cannot serve, and of a proxy without a node: the same request goes to the next one. */
  static final Set<Integer> REPEATABLE = Set.of(500, 502, 503, 504);

  private static final long PAUSE_MIN_MS = 50;
  private static final long PAUSE_MAX_MS = 1_000;

  private final List<String> endpoints;
  private final String accessToken;
  private final HttpClient http;

  /** Which node is asked next, counted on without end. */
  private final AtomicInteger at;

  /** What {@code close} ends. */
  private final Set<CompletableFuture<?>> open = ConcurrentHashMap.newKeySet();

  private volatile boolean isClosed;

  /**
   * @param accessToken null: none
   * @param context null: the default one
   */
  Nodes(List<String> endpoints, String accessToken, SSLContext context) {
    this.endpoints = endpoints;
    this.accessToken = accessToken;
    // Nodes speak HTTP/1.1. An upgrade to HTTP/2, which is the default, would be one more thing to go wrong.
    HttpClient.Builder builder = HttpClient.newBuilder()
        .version(HttpClient.Version.HTTP_1_1)
        .followRedirects(HttpClient.Redirect.NEVER)
        .proxy(new ProxyForTls())
        .connectTimeout(Duration.ofMillis(ANSWER_MS));
    if (context != null) builder.sslContext(context);
    http = builder.build();
    at = new AtomicInteger(ThreadLocalRandom.current().nextInt(endpoints.size()));
  }

  /** The URL of a node without a slash at its end; the URLs of the SDK (ws:, wss:) name the same port. */
  static String endpoint(String text) {
    String url = text.strip().replaceFirst("^ws", "http").replaceFirst("/+$", "");
    try {
      URI uri = new URI(url);
      boolean isPlain = uri.getQuery() == null && uri.getFragment() == null && uri.getUserInfo() == null;
      boolean isHttp = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
      if (isHttp && isPlain && uri.getHost() != null) return url;
    } catch (URISyntaxException notAUrl) {
      // It is refused below.
    }
    String hint = url.contains("_") ? " (host names in Java have no underscore)" : "";
    throw new IllegalArgumentException(
        "\"" + text + "\" is not the URL of a node, such as http://10.0.0.1:7411" + hint);
  }

  /**
   * Asks node after node until one accepts. Throws what the last one said when the patience is over, and a refusal at
   * once.
   */
  Answer ask(Question question) throws InterruptedException {
    Moment began = new Moment();
    long pauseMs = PAUSE_MIN_MS;
    for (int attempts = 1;; attempts++) {
      if (isClosed && !question.isGiveBack()) throw closed();
      int here = at.get();
      HoldfastException failure;
      try {
        return send(endpointAt(here), question);
      } catch (HoldfastException error) {
        if (!isRepeatable(error)) throw error;
        failure = error;
      }
      pass(here);
      boolean isRound = attempts % endpoints.size() == 0;
      boolean isEnough = question.isOnceEach ? isRound : question.isOver.getAsBoolean();
      if (isEnough) throw failure;
      if (isRound && !question.isOnceEach) {
        double factor = ThreadLocalRandom.current().nextDouble(0.5, 1.5);
        Thread.sleep(Math.max(0, Math.min((long) (pauseMs * factor), question.patienceMs - began.ageMs())));
        pauseMs = Math.min(2 * pauseMs, PAUSE_MAX_MS);
      }
      if (!question.isOnceEach && began.ageMs() >= question.patienceMs) throw failure;
    }
  }

  /** Ends all requests, and refuses further ones, unless they give something back. */
  void close() {
    isClosed = true;
    for (CompletableFuture<?> each : open) each.cancel(true);
  }

  boolean isClosed() {
    return isClosed;
  }

  /** What each node gets of a time in which all of them are asked. */
  long shareOf(long ms) {
    return ms / endpoints.size();
  }

  HttpClient http() {
    return http;
  }

  /** The number of the node to ask now, for {@code pass} and {@code request}. */
  int current() {
    return at.get();
  }

  /** Goes on to the next node. Threads that failed together go on to the same one. */
  void pass(int here) {
    at.compareAndSet(here, here + 1);
  }

  String endpointAt(int here) {
    return endpoints.get(Math.floorMod(here, endpoints.size()));
  }

  HttpRequest.Builder request(String endpoint, String target) {
    HttpRequest.Builder builder = HttpRequest.newBuilder(URI.create(endpoint + target));
    if (accessToken != null) builder.header("Authorization", "Bearer " + accessToken);
    return builder;
  }

  private Answer send(String endpoint, Question question) throws InterruptedException {
    HttpRequest.Builder builder = request(endpoint, question.target)
        .timeout(Duration.ofMillis(Math.max(1, question.silenceMs)))
        .method(question.method, BodyPublishers.noBody());
    question.headers.forEach(builder::header);
    if (question.body != null) {
      builder.header("Content-Type", "application/json");
      builder.method(question.method, BodyPublishers.ofString(question.body.get()));
    }
    HttpRequest request = builder.build();
    HttpResponse<byte[]> response;
    Moment sent = new Moment();
    try {
      response = exchange(request, question);
    } catch (IOException error) {
      throw unavailable(endpoint, error);
    }
    Map<String, Object> answer = objectIn(response.body());
    int status = response.statusCode();
    if (answer != null && (status == 200 || status == 202)) return new Answer(sent, answer);
    throw refusal(status, answer);
  }

  private HttpResponse<byte[]> exchange(HttpRequest request, Question question)
      throws InterruptedException, IOException {
    BoundedBody body = new BoundedBody();
    CompletableFuture<HttpResponse<byte[]>> exchange = http.sendAsync(request, head -> body);
    if (!question.isGiveBack()) open.add(exchange);
    try {
      if (isClosed && !question.isGiveBack()) throw closed();
      // Time limits of requests end with the head of the answer: one that drips would never be over.
      return exchange.get(Math.max(1, question.silenceMs), TimeUnit.MILLISECONDS);
    } catch (TimeoutException error) {
      throw new IOException("no answer within " + question.silenceMs + " ms", error);
    } catch (CancellationException error) {
      throw closed();
    } catch (ExecutionException error) {
      // What the cancelling by close comes to depends on how far the request was.
      if (isClosed && !question.isGiveBack()) throw closed();
      Throwable cause = error.getCause();
      if (cause instanceof RuntimeException) throw (RuntimeException) cause;
      throw cause instanceof IOException ? (IOException) cause : new IOException(cause);
    } finally {
      open.remove(exchange);
      if (!exchange.isDone()) {
        exchange.cancel(true);
        body.abort();
      }
    }
  }

  /** No node is known to have refused it: the same request may be sent again. */
  static boolean isRepeatable(HoldfastException error) {
    // CANCELLED by a node: a copy of the request, which something on the way made, waits in its place.
    return error instanceof UnavailableException || (error.code().equals("CANCELLED") && error.status() != 0);
  }

  /** What the answer of a node says, or of a proxy before it; null if it is not an object of JSON. */
  static HoldfastException refusal(int status, Map<String, Object> answer) {
    Map<?, ?> problem = answer == null ? Map.of() : answer;
    Object code = problem.get("code");
    Object detail = problem.get("detail");
    Object details = problem.get("details");
    return HoldfastException.of(
        code instanceof String ? (String) code : REPEATABLE.contains(status) ? "UNAVAILABLE" : "PROTOCOL",
        detail instanceof String ? (String) detail : "status " + status + " without an answer of a node",
        status,
        details instanceof Map ? asObject(details) : Map.of());
  }

  static HoldfastException unavailable(String endpoint, IOException error) {
    String why = error.getMessage() == null ? error.getClass().getSimpleName() : error.getMessage();
    HoldfastException failure = new UnavailableException("UNAVAILABLE", endpoint + ": " + why, 0, Map.of());
    failure.initCause(error);
    return failure;
  }

  private static HoldfastException closed() {
    return new HoldfastException("CANCELLED", "the client was closed", 0, Map.of());
  }

  /** Null if it is anything else. */
  static Map<String, Object> objectIn(byte[] bytes) {
    try {
      Object value = Json.read(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
      return value instanceof Map ? asObject(value) : null;
    } catch (CharacterCodingException | IllegalArgumentException notJson) {
      return null;
    }
  }

  @SuppressWarnings("unchecked") // Maps of Json have texts as keys.
  private static Map<String, Object> asObject(Object value) {
    return (Map<String, Object>) value;
  }
}
