package dev.holdfast;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.URLEncoder;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.regex.Pattern;

/**
 * Reports changes of keys until it is closed. When its node fails, it goes on at the next one, where it was. A slow
 * observer misses nothing, unless it is away for so long that the cluster has forgotten changes: it hears of that as
 * {@code reset}.
 */
public final class Watch implements AutoCloseable {
  private static final Logger LOG = System.getLogger("dev.holdfast");

  private static final String EVENTS = "text/event-stream";
  private static final Pattern ID = Pattern.compile("\\d{1,16}\\.\\d{1,16}");

  /** A node sends something every 15 seconds. */
  private static final long SILENCE_MS = 40_000;

  private static final long LOOK_MS = 5_000;
  private static final long PAUSE_MS = 1_000;
  private static final int LINE_BYTES_MAX = 1 << 20;

  private final Client client;
  private final String target;
  private final Consumer<Change> observer;
  private final CompletableFuture<Void> ended = new CompletableFuture<>();

  private volatile InputStream stream = InputStream.nullInputStream();
  private volatile Moment heard = new Moment();

  /** Whether the observer works, which is not a silence of the node. */
  private volatile boolean isObserving;

  private String lastId;

  Watch(Client client, String prefix, Consumer<Change> observer) {
    this.client = client;
    this.observer = observer;
    target = "/v1/watch?prefix=" + URLEncoder.encode(prefix, StandardCharsets.UTF_8);
  }

  /**
   * Completes when the watch ends: normally after {@code close}; with what the observer threw; or with the {@link
   * HoldfastException} of a refusal, such as {@code UNAUTHENTICATED} and {@code FORBIDDEN}.
   *
   * @return a future of its own for each call
   */
  public CompletableFuture<Void> ended() {
    return ended.copy();
  }

  /** Ends the watch. The observer may still be called once. */
  @Override
  public void close() {
    end(null);
  }

  /** In a thread of its own, until the watch ends. */
  void run() {
    look();
    try {
      while (!ended.isDone() && !client.nodes.isClosed()) {
        follow();
        Thread.sleep(PAUSE_MS);
      }
      end(null);
    } catch (InterruptedException | RuntimeException | Error error) {
      end(error);
    }
  }

  /** Ends a connection on which nothing comes. Never waits. */
  private void look() {
    if (ended.isDone()) return;
    if (!isObserving && heard.ageMs() > SILENCE_MS) closeStream();
    client.later(this::look, LOOK_MS);
  }

  /** One connection, to its end. */
  private void follow() throws InterruptedException {
    Nodes nodes = client.nodes;
    int here = nodes.current();
    HttpRequest.Builder request = nodes.request(nodes.endpointAt(here), target)
        .timeout(Duration.ofMillis(Nodes.ANSWER_MS))
        .header("Accept", EVENTS);
    if (lastId != null) request.header("Last-Event-ID", lastId);
    heard = new Moment();
    try {
      HttpResponse<InputStream> response = nodes.http().send(request.build(), BodyHandlers.ofInputStream());
      try (InputStream body = new BufferedInputStream(response.body())) {
        stream = body;
        if (ended.isDone()) return;
        boolean isStream = response.headers().firstValue("Content-Type").orElse("").startsWith(EVENTS);
        if (response.statusCode() == 200 && isStream) read(body);
        else refused(response.statusCode(), body);
      }
    } catch (IOException error) {
      // It goes on at the next node.
    }
    nodes.pass(here);
  }

  private static void refused(int status, InputStream body) throws IOException {
    HoldfastException refusal = Nodes.refusal(status, Nodes.objectIn(body.readNBytes(LINE_BYTES_MAX)));
    if (!Nodes.isRepeatable(refusal)) throw refusal;
  }

  /** Reads events until the stream ends. */
  private void read(InputStream body) throws IOException {
    String type = "";
    String id = null;
    StringBuilder data = new StringBuilder();
    for (String line = lineOf(body); line != null; line = lineOf(body)) {
      heard = new Moment();
      int colon = line.indexOf(':');
      String field = colon < 0 ? line : line.substring(0, colon);
      String value = line.substring(colon < 0 ? line.length() : colon + 1).replaceFirst("^ ", "");
      if (field.equals("event")) type = value;
      if (field.equals("data")) data.append(value);
      if (field.equals("id") && ID.matcher(value).matches()) id = value;
      if (!line.isEmpty()) continue;
      if (data.length() > 0) observe(type, data.toString());
      if (id != null) lastId = id;
      type = "";
      data.setLength(0);
    }
  }

  private void observe(String type, String data) throws IOException {
    Map<String, Object> members = Nodes.objectIn(data.getBytes(StandardCharsets.UTF_8));
    if (members == null) throw new IOException("an event without JSON");
    // Each connection begins; the watch does so once.
    boolean isKnown = type.equals("begun") && lastId != null;
    if (isKnown || ended.isDone()) return;
    isObserving = true;
    try {
      observer.accept(new Change(type, members));
    } finally {
      heard = new Moment();
      isObserving = false;
    }
  }

  /** Null at the end. */
  private static String lineOf(InputStream body) throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    for (int next = body.read(); next >= 0; next = body.read()) {
      if (next == '\n') return line.toString(StandardCharsets.UTF_8);
      if (line.size() == LINE_BYTES_MAX) throw new IOException("a line of more than " + LINE_BYTES_MAX + " bytes");
      if (next != '\r') line.write(next);
    }
    return null;
  }

  private void end(Throwable cause) {
    client.forget(this);
    if (cause == null) {
      ended.complete(null);
    } else if (ended.completeExceptionally(cause)) {
      LOG.log(Level.WARNING, "a watch has ended: " + cause.getMessage());
    }
    closeStream();
  }

  private void closeStream() {
    try {
      stream.close();
    } catch (IOException error) {
      // It has ended by itself.
    }
  }
}
