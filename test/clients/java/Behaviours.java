package dev.holdfast;

import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;

/** What the Java client does with a real cluster, part by part; prints what each call came to. */
public final class Behaviours {
  private static final Duration SHORT_TTL = Duration.ofSeconds(3);
  private static final Scanner INPUT = new Scanner(System.in);

  public static void main(String[] arguments) throws Exception {
    switch (arguments[0]) {
      case "json":
        json();
        return;
      case "arguments":
        refusedArguments();
        return;
      case "answers":
        answers();
        return;
      case "proxies":
        proxies();
        return;
      case "tls":
        tls(Path.of(arguments[1]));
        return;
      default:
    }
    Client client = Client.create();
    switch (arguments[0]) {
      case "tries":
        tries(client);
        break;
      case "kinds":
        kinds(client);
        break;
      case "interrupts":
        interrupts(client);
        break;
      case "reentrant":
        reentrant(client);
        break;
      case "losses":
        losses(client);
        break;
      case "close":
        close(client);
        break;
      case "exit":
        Runtime.getRuntime().addShutdownHook(new Thread(client::close));
        client.lock("java/exit").acquire();
        break;
      case "watch":
        watch(client);
        break;
      default:
        throw new IllegalArgumentException(arguments[0]);
    }
    // The client is not closed: its threads do not keep the program.
  }

  private static void json() {
    for (String text : List.of(
        "{\"a\":[1,-2.5,1e2,true,false,null,\"\\u00e9\\n\\ud83d\\ude00\"],\"b\":{}}", " [ ] ", "9007199254740993",
        "12345678901234567890", "-0", "\"\"")) {
      say(Json.write(Json.read(text)));
    }
    String deep = "[".repeat(66) + "]".repeat(66);
    for (String text : List.of(
        "", "{", "[1,]", "{\"a\":1,}", "{a:1}", "{\"a\":1,\"a\":2}", "01", "1.", ".5", "+1", "1e", "1e999", "NaN",
        "tru", "truex", "'a'", "\"a", "\"\\x\"", "\"\\u12\"", "\"\t\"", "[1] 2", "[1 2]", "\u00a01", deep)) {
      try {
        say("accepted: " + text + " as " + Json.read(text));
      } catch (IllegalArgumentException refusal) {
        // As it should be.
      }
    }
    say(Json.write(Map.of("\u0001\"\\", List.of("a", 1L, true))));
  }

  private static void refusedArguments() {
    for (String url : List.of("", "10.0.0.1:7411", "ftp://a", "http://", "http://a_b", "http://a?b", "http://a@b")) {
      tell("endpoint " + url, () -> Client.builder().endpoints(url).build());
    }
    tell("no endpoint", () -> Client.builder().endpoints());
    tell("access token", () -> Client.builder().accessToken("a\nb").build());
    tell("patience", () -> Client.builder().patience(Duration.ofMillis(-1)));
    LockRequest request = Client.create().lock("key");
    tell("empty key", () -> request.and(""));
    tell("half of a pair", () -> request.and("\ud83d"));
    tell("name", () -> request.name("größe"));
    tell("negative TTL", () -> request.ttl(Duration.ofMillis(-1)));
    tell("TTL of no length", () -> request.ttl(Duration.ofNanos(1)));
    tell("negative wait", () -> request.waitUpTo(Duration.ofNanos(-1)));
  }

  /** Grants that no node would send: nothing of them is believed, and what they may hide is given back. */
  private static void answers() throws Exception {
    AtomicReference<String> answer = new AtomicReference<>();
    AtomicInteger gaveBack = new AtomicInteger();
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", exchange -> {
      boolean isGiveBack = exchange.getRequestMethod().equals("DELETE");
      if (isGiveBack) gaveBack.incrementAndGet();
      String text = isGiveBack ? "{\"released\":false,\"reason\":\"unknown\"}" : answer.get();
      byte[] body = text.getBytes(StandardCharsets.ISO_8859_1);
      exchange.getRequestBody().readAllBytes();
      exchange.sendResponseHeaders(200, body.length);
      try (OutputStream out = exchange.getResponseBody()) {
        out.write(body);
      }
    });
    server.start();
    String url = "http://127.0.0.1:" + server.getAddress().getPort();
    try (Client client = Client.builder().endpoints(url).patience(Duration.ZERO).build()) {
      for (String text : List.of(
          "{}", "[]", "null", "", "{\"token\":7}", "{\"token\":7,\"trustMs\":\"9000\"}",
          "{\"token\":0,\"trustMs\":9000}",
          "{\"token\":7.5,\"trustMs\":9000}", "{\"token\":9007199254740993,\"trustMs\":9000}",
          "{\"token\":7,\"trustMs\":9000,\"slots\":[1]}",
          "{\"token\":7,\"trustMs\":9000,\"slots\":\"\u00ff\"}")) {
        answer.set(text);
        int before = gaveBack.get();
        tell(text, client.lock("key")::tryAcquire);
        if (gaveBack.get() != before + 1) say("not given back: " + text);
      }
      answer.set("\"" + "a".repeat(9 << 20) + "\"");
      tell("a large answer", () -> client.look("key"));
      answer.set("{\"token\":7,\"trustMs\":9000.9}");
      tell("a right answer", () -> client.lock("key").tryAcquire().orElseThrow().remaining().toMillis() <= 9_000);
    }
    server.stop(0);
  }

  /** What a proxy of the JVM hears of requests to these nodes, none of which answers. */
  private static void proxies() throws Exception {
    BlockingQueue<String> heard = new LinkedBlockingQueue<>();
    ServerSocket proxy = new ServerSocket(0, 0, InetAddress.getLoopbackAddress());
    Thread listener = new Thread(() -> {
      while (true) {
        try (Socket socket = proxy.accept()) {
          heard.add(new BufferedReader(new InputStreamReader(socket.getInputStream())).readLine());
        } catch (IOException error) {
          heard.add(error.toString());
        }
      }
    });
    listener.setDaemon(true);
    listener.start();
    for (String scheme : List.of("http", "https")) {
      System.setProperty(scheme + ".proxyHost", "127.0.0.1");
      System.setProperty(scheme + ".proxyPort", String.valueOf(proxy.getLocalPort()));
    }
    System.setProperty("http.nonProxyHosts", "");
    for (String url : List.of("https://0.0.0.0:1", "https://127.0.0.1:2", "https://localhost:3", "http://0.0.0.0:4")) {
      try (Client client = Client.builder().endpoints(url).patience(Duration.ZERO).build()) {
        client.look("key");
      } catch (UnavailableException error) {
        say(url + ": " + error.code());
      }
    }
    // The JDK may ask twice.
    say("the proxy heard: " + new TreeSet<>(heard));
  }

  private static void tries(Client client) throws Exception {
    LockRequest request = client.lock("java/tries").name("behaviours");
    Lock held = request.tryAcquire().orElseThrow();
    tell("is held", held::isHeld);
    tell("remains", () -> held.remaining().toMillis() > 5_000 && held.remaining().toMillis() <= 15_000);
    tell("name", () -> ((Map<?, ?>) listIn(client.look("java/tries"), "holds").get(0)).get("sessionName"));
    tell("try", () -> request.tryAcquire().isPresent());
    tell("no wait", () -> request.waitUpTo(Duration.ZERO).acquire());
    tell("short wait", () -> request.waitUpTo(Duration.ofMillis(300)).acquire());
    held.extend(Duration.ofMinutes(5));
    tell("extended", () -> held.remaining().toMinutes() >= 4);
    tell("extended by nothing", () -> done(() -> held.extend(Duration.ZERO)));
    tell("release", () -> done(held::release));
    tell("release again", () -> done(held::release));
    tell("close", () -> done(held::close));
    tell("check", () -> done(held::check));
    tell("extend", () -> done(() -> held.extend(SHORT_TTL)));
    tell("lost", () -> held.lost().isDone());
    tell("in a block", () -> {
      try (Lock lock = request.acquire()) {
        return lock.token() > held.token();
      }
    });
  }

  private static void kinds(Client client) throws Exception {
    String odd = "java/b/c ü&+%";
    LockRequest mixed = client.lock("java/a").shared().and(odd).and("java/pool").permits(2).limit(3);
    Lock both = mixed.acquire();
    tell("slots", both::slots);
    tell("mode", () -> modeOf(client, "java/a"));
    tell("mode", () -> modeOf(client, odd));
    tell("mode", () -> modeOf(client, "java/pool"));
    tell("another reader", () -> done(client.lock("java/a").shared().tryAcquire().orElseThrow()::release));
    tell("a writer", () -> client.lock("java/a").tryAcquire().isPresent());
    tell("a permit", () -> {
      try (Lock permit = client.lock("java/pool").limit(3).acquire()) {
        return permit.slots();
      }
    });
    tell("two permits", () -> client.lock("java/pool").permits(2).limit(3).tryAcquire().isPresent());
    tell("another limit", () -> client.lock("java/pool").limit(4).tryAcquire());
    tell("release", () -> done(both::release));
    tell("kind then", () -> client.look(odd).get("kind"));
  }

  private static void interrupts(Client client) throws Exception {
    String key = "java/interrupts";
    Lock held = client.lock(key).acquire();
    Thread waiting = thread(() -> tell("interrupted wait", client.lock(key)::acquire));
    untilWaiters(client, key, 1);
    waiting.interrupt();
    waiting.join();
    tell("waiters", () -> listIn(client.look(key), "waiters").size());
    Thread.currentThread().interrupt();
    tell("interrupted before", client.lock("java/free")::acquire);
    tell("interrupt is left", Thread::interrupted);
    tell("kind of what was not asked for", () -> client.look("java/free").get("kind"));
    Thread first = thread(() -> waitsThrough(client, key, "first"));
    untilWaiters(client, key, 1);
    Thread second = thread(() -> waitsThrough(client, key, "second"));
    untilWaiters(client, key, 2);
    first.interrupt();
    held.release();
    first.join();
    second.join();
    Lock last = client.lock(key).acquire();
    Thread.currentThread().interrupt();
    tell("release", () -> done(last::release));
    tell("interrupt is left", Thread::interrupted);
    tell("holds", () -> listIn(client.look(key), "holds").size());
  }

  /** By a wait that interrupts do not end. */
  private static void waitsThrough(Client client, String key, String who) {
    ThreadLock lock = client.reentrant(key);
    lock.lock();
    say(who + ", interrupted: " + Thread.currentThread().isInterrupted());
    lock.unlock();
  }

  private static void reentrant(Client client) throws Exception {
    ThreadLock lock = client.reentrant("java/reentrant");
    lock.lock();
    long token = lock.token();
    client.reentrant("java/reentrant").lockInterruptibly();
    tell("try of the same thread", lock::tryLock);
    tell("count", lock::holdCount);
    tell("same token", () -> lock.token() == token);
    tell("check", () -> done(lock::check));
    tell("try of another thread", () -> elsewhere(lock::tryLock));
    tell("wait of another thread", () -> elsewhere(() -> lock.tryLock(100, TimeUnit.MILLISECONDS)));
    tell("unlock of another thread", () -> elsewhere(() -> done(lock::unlock)));
    tell("count of another thread", () -> elsewhere(lock::holdCount));
    lock.unlock();
    lock.unlock();
    tell("try while it is held", () -> elsewhere(lock::tryLock));
    lock.unlock();
    tell("try then", () -> elsewhere(() -> lock.tryLock() && done(lock::unlock).equals("done")));
    tell("unlock once more", () -> done(lock::unlock));
    tell("condition", () -> {
      Condition condition = lock.newCondition();
      return condition;
    });
  }

  private static void losses(Client client) throws Exception {
    Lock lock = client.lock("java/lost").ttl(SHORT_TTL).acquire();
    BlockingQueue<String> heard = new LinkedBlockingQueue<>();
    lock.onLost(loss -> {
      throw new IllegalStateException("this is logged, and hinders nothing");
    }).onLost(loss -> heard.add(loss.reason()));
    ThreadLock reentrant = client.reentrant("java/lost-reentrant", SHORT_TTL);
    reentrant.lock();
    reentrant.lock();
    say("holding");
    tell("heard", heard::take);
    tell("future", () -> lock.lost().join().reason());
    tell("is held", lock::isHeld);
    tell("remains", lock::remaining);
    tell("release", () -> done(lock::release));
    tell("close", () -> done(lock::close));
    until(() -> {
      try {
        reentrant.check();
        return false;
      } catch (LockLostException loss) {
        return true;
      }
    });
    tell("lock again", () -> done(reentrant::lock));
    tell("try again", reentrant::tryLock);
    tell("inner unlock", () -> done(reentrant::unlock));
    tell("outer unlock", () -> done(reentrant::unlock));
    tell("count", reentrant::holdCount);
    tell("block", () -> {
      try (Lock another = client.lock("java/lost").ttl(SHORT_TTL).acquire()) {
        say("holding again");
        another.lost().join();
        return "a result that may be worthless";
      }
    });
  }

  private static void close(Client client) throws Exception {
    String key = "java/close";
    Lock held = client.lock(key).acquire();
    Thread waiting = thread(() -> tell("a wait", client.lock(key)::acquire));
    untilWaiters(client, key, 1);
    client.close();
    waiting.join();
    tell("reason", () -> held.lost().join().reason());
    tell("release", () -> done(held::release));
    tell("another lock", () -> client.lock("java/another").acquire());
    tell("look", () -> client.look(key));
    tell("close again", () -> done(client::close));
    try (Client other = Client.create()) {
      tell("holds", () -> listIn(other.look(key), "holds").size());
      tell("waiters", () -> listIn(other.look(key), "waiters").size());
      Watch watch = other.watch("java/", change -> {
        throw new IllegalStateException("what the observer throws");
      });
      tell("a watch whose observer throws", () -> watch.ended().get());
      Watch closed = other.watch("java/", change -> {});
      closed.close();
      tell("a watch that is closed", () -> closed.ended().get());
    }
  }

  /** Says when it watches; the test then stops the node, and says when it is back. */
  private static void watch(Client client) throws Exception {
    BlockingQueue<String> changes = new LinkedBlockingQueue<>();
    client.watch("java/watch/", change -> changes.add(change.type() + " " + change.key() + " " + (change.token() > 0)));
    say(changes.take());
    client.lock("java/watch/1").acquire().release();
    client.lock("java/unwatched").acquire().release();
    say(changes.take() + ", " + changes.take());
    INPUT.nextLine();
    client.lock("java/watch/2").acquire().release();
    List<String> last = new ArrayList<>(List.of(changes.take(), changes.take()));
    say(String.join(", ", last));
  }

  private static void tls(Path directory) throws Exception {
    Path ca = directory.resolve("ca");
    try (Client client =
        Client.builder().trust(ca).identity(directory.resolve("cert"), directory.resolve("key")).build()) {
      tell("with a certificate", () -> done(client.lock("java/tls").acquire()::release));
    }
    Duration once = Duration.ZERO;
    try (Client client = Client.builder().trust(ca).patience(once).build()) {
      tell("without one", () -> client.lock("java/tls").tryAcquire());
    }
    try (Client client = Client.builder().patience(once).build()) {
      tell("without trust", () -> client.lock("java/tls").tryAcquire());
    }
    tell("a file without certificates", () -> Client.builder().trust(directory.resolve("key")));
    tell("a file without a key", () -> Client.builder().identity(directory.resolve("cert"), ca));
  }

  private interface Action {
    void run() throws Exception;
  }

  private static String done(Action action) throws Exception {
    action.run();
    return "done";
  }

  private static Thread thread(Runnable work) {
    Thread thread = new Thread(work);
    thread.start();
    return thread;
  }

  /** What another thread comes to. */
  private static <T> T elsewhere(Callable<T> call) throws Exception {
    CompletableFuture<T> outcome = new CompletableFuture<>();
    thread(() -> {
      try {
        outcome.complete(call.call());
      } catch (Throwable error) {
        outcome.completeExceptionally(error);
      }
    }).join();
    return outcome.get();
  }

  private static void untilWaiters(Client client, String key, int count) throws Exception {
    until(() -> listIn(client.look(key), "waiters").size() == count);
  }

  private static void until(Callable<Boolean> condition) throws Exception {
    while (!condition.call()) Thread.sleep(20);
  }

  private static List<?> listIn(Map<String, Object> view, String name) {
    return (List<?>) view.get(name);
  }

  private static Object modeOf(Client client, String key) throws Exception {
    return ((Map<?, ?>) listIn(client.look(key), "holds").get(0)).get("mode");
  }

  private static void tell(String what, Callable<?> call) {
    String outcome;
    try {
      outcome = String.valueOf(call.call());
    } catch (Throwable error) {
      Throwable cause = error;
      while (cause instanceof ExecutionException || cause instanceof CompletionException) cause = cause.getCause();
      outcome = cause.getClass().getSimpleName();
      if (cause instanceof LockLostException) outcome += " " + ((LockLostException) cause).reason();
      else if (cause instanceof HoldfastException) outcome += " " + ((HoldfastException) cause).code();
    }
    say(what + ": " + outcome);
  }

  private static synchronized void say(String line) {
    System.out.println(line);
  }
}
