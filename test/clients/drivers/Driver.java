package dev.holdfast;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** Plays the client's part of one transcript with the Java client, and prints what it reports. */
public final class Driver {
  public static void main(String[] arguments) throws Exception {
    loadClasses();
    Map<?, ?> part = (Map<?, ?>) Json.read(arguments[0]);
    try (Client client = Client.create()) {
      if (part.containsKey("looks")) {
        report("view", client.look((String) part.get("looks")));
        return;
      }
      if (part.containsKey("watches")) {
        report("changes", changesOf(client, (Map<?, ?>) part.get("watches")));
        return;
      }
      try (Lock lock = requestOf(client, (Map<?, ?>) part.get("lock")).acquire()) {
        lock.check();
        report("token", lock.token(), "slots", lock.slots());
        if (part.containsKey("extendsMs")) {
          lock.extend(Duration.ofMillis(number(part, "extendsMs")));
          long ttlMs = number((Map<?, ?>) part.get("lock"), "ttlMs");
          report("isExtended", lock.remaining().toMillis() > ttlMs);
        }
        if (part.containsKey("holds")) hold(lock);
        lock.release();
      }
      report("outcome", "released");
    } catch (LockLostException loss) {
      report("outcome", "lost", "reason", loss.reason());
    } catch (HoldfastException error) {
      report("outcome", error.code());
    }
  }

  /** The first changes of a watch; the refusal that ends it earlier. */
  private static List<Object> changesOf(Client client, Map<?, ?> wanted) {
    List<Object> seen = new ArrayList<>();
    CompletableFuture<Void> isWhole = new CompletableFuture<>();
    try (Watch watch = client.watch((String) wanted.get("prefix"), change -> {
      if (seen.size() < number(wanted, "changes")) seen.add(Map.of("type", change.type(), "key", change.key()));
      if (seen.size() == number(wanted, "changes")) isWhole.complete(null);
    })) {
      CompletableFuture.anyOf(isWhole, watch.ended()).join();
    } catch (CompletionException end) {
      if (end.getCause() instanceof HoldfastException) throw (HoldfastException) end.getCause();
      throw end;
    }
    return seen;
  }

  /** By a request that nobody hears: on a busy machine, the first one can outlast the short leases of transcripts. */
  private static void loadClasses() throws InterruptedException {
    try (Client client = Client.builder().endpoints("http://127.0.0.1:1").patience(Duration.ZERO).build()) {
      client.look("key");
    } catch (UnavailableException refused) {
      // Nothing listens there.
    }
  }

  private static LockRequest requestOf(Client client, Map<?, ?> wanted) {
    LockRequest request = null;
    for (Object each : (List<?>) wanted.get("keys")) {
      String key = (String) each;
      request = request == null ? client.lock(key) : request.and(key);
      if (Boolean.TRUE.equals(wanted.get("shared"))) request = request.shared();
      if (wanted.containsKey("permits")) request = request.permits(number(wanted, "permits"));
      if (wanted.containsKey("limit")) request = request.limit(number(wanted, "limit"));
    }
    request = request.ttl(Duration.ofMillis(number(wanted, "ttlMs")));
    if (wanted.get("waitMs") != null) request = request.waitUpTo(Duration.ofMillis(number(wanted, "waitMs")));
    return wanted.containsKey("name") ? request.name((String) wanted.get("name")) : request;
  }

  private static int number(Map<?, ?> wanted, String name) {
    return Math.toIntExact((Long) wanted.get(name));
  }

  private static void hold(Lock lock) {
    CompletableFuture<Integer> finish = new CompletableFuture<>();
    Thread reader = new Thread(() -> {
      try {
        finish.complete(System.in.read());
      } catch (IOException error) {
        finish.completeExceptionally(error);
      }
    });
    reader.setDaemon(true);
    reader.start();
    CompletableFuture.anyOf(finish, lock.lost()).join();
  }

  private static void report(Object... members) {
    Map<String, Object> report = new LinkedHashMap<>();
    for (int at = 0; at < members.length; at += 2) report.put((String) members[at], members[at + 1]);
    System.out.println(Json.write(report));
  }
}
