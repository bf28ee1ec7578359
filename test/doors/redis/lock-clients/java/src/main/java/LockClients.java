import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.Callable;
import java.util.function.Function;

/**
 * Lock clients of Redis in Java, as their users use them.
 *
 * `LockClients steps CLIENT=ADDRESS …` takes the same steps with each client, and prints what each step came to.
 * `LockClients fault CLIENT=ADDRESS,ADDRESS … …` takes a lock with each client, prints "holding", waits for a line
 * while the test does something to the servers, and goes on. `LockClients turns CLIENT=ADDRESS …` is for clients that
 * end the lock of anybody, `LockClients refused CLIENT=ADDRESS …` prints how each client is refused. Whatever a client
 * does not promise ends the program. Several modes, each before its clients, are gone through in turn.
 */
public final class LockClients {
  /** Makes a lock of a user of its own, with a connection of its own. Several addresses are the nodes of one cluster. */
  interface Maker {
    UserLock make(List<String> addresses, String key, long ttlMs) throws Exception;
  }

  private static final Map<String, Maker> MAKERS = Map.of(
      "Jedis", ByJedis::new,
      "Lettuce", ByLettuce::new,
      "Spring Integration", ByRegistry::spinning,
      "Spring Integration, notified", ByRegistry::notified,
      "ShedLock", ByShedLock::safe,
      "ShedLock without safeUpdate", ByShedLock::unsafe);

  /** Long enough for all that is done while such a lock is held. */
  private static final long LONG_MS = 60_000;
  /** Locks that nobody releases have it. */
  private static final long BRIEF_MS = 1_000;
  /** So long somebody tries again. */
  private static final long PATIENCE_MS = 60_000;
  private static final long PAUSE_MS = 50;

  public static void main(String[] args) throws Exception {
    Map<String, Function<Long, UserLock>> users = new LinkedHashMap<>();
    String mode = "";
    for (String word : args) {
      String[] parts = word.split("=");
      if (parts.length == 1) {
        mode = word;
        continue;
      }
      Maker maker = MAKERS.get(parts[0]);
      Function<Long, UserLock> user = ttlMs -> {
        try {
          return maker.make(List.of(parts[1].split(",")), "client:" + parts[0], ttlMs);
        } catch (Exception error) {
          throw new IllegalStateException(error);
        }
      };
      switch (mode) {
        case "fault" -> users.put(parts[0], user);
        case "steps" -> steps(parts[0], user);
        case "turns" -> turns(parts[0], user);
        case "refused" -> refused(parts[0], user);
        default -> throw new IllegalArgumentException(word);
      }
    }
    if (!users.isEmpty()) fault(users);
    // Clients have threads of their own.
    System.exit(0);
  }

  private static void say(String client, String what, Object outcome) {
    System.out.println(client + ": " + what + ": " + outcome);
  }

  private static void steps(String client, Function<Long, UserLock> user) throws Exception {
    UserLock alice = user.apply(LONG_MS);
    UserLock bob = user.apply(LONG_MS);
    UserLock carol = user.apply(BRIEF_MS);
    say(client, "alice takes", alice.take());
    say(client, "bob takes", bob.take());
    say(client, "alice extends", alice.extend());
    say(client, "alice releases", alice.release());
    say(client, "bob takes", bob.take());
    say(client, "alice releases", alice.release());
    say(client, "carol takes", carol.take());
    say(client, "bob releases", bob.release());
    say(client, "carol takes, and never releases", carol.take());
    say(client, "bob takes in the end", inTheEnd(bob::take));
    say(client, "carol releases", carol.release());
    say(client, "alice takes", alice.take());
    say(client, "bob releases", bob.release());
  }

  private static void fault(Map<String, Function<Long, UserLock>> users) throws Exception {
    Map<String, List<UserLock>> held = new LinkedHashMap<>();
    for (var user : users.entrySet()) {
      UserLock alice = user.getValue().apply(LONG_MS);
      held.put(user.getKey(), List.of(alice, user.getValue().apply(LONG_MS)));
      say(user.getKey(), "alice takes", known(alice::take));
    }
    System.out.println("holding");
    new Scanner(System.in).nextLine();
    for (var locks : held.entrySet()) {
      String client = locks.getKey();
      UserLock alice = locks.getValue().get(0);
      UserLock bob = locks.getValue().get(1);
      say(client, "bob takes", known(bob::take));
      say(client, "alice extends", known(alice::extend));
      say(client, "alice releases", known(alice::release));
      say(client, "bob takes", known(bob::take));
      say(client, "bob releases", known(bob::release));
    }
  }

  private static void turns(String client, Function<Long, UserLock> user) throws Exception {
    UserLock alice = user.apply(LONG_MS);
    UserLock bob = user.apply(LONG_MS);
    say(client, "alice takes", alice.take());
    say(client, "bob takes", bob.take());
    say(client, "alice releases", alice.release());
    say(client, "bob takes in the end", inTheEnd(bob::take));
    say(client, "bob releases", bob.release());
  }

  private static void refused(String client, Function<Long, UserLock> user) throws Exception {
    UserLock alice = user.apply(BRIEF_MS);
    UserLock bob = user.apply(BRIEF_MS);
    attempt(client, "alice takes", alice::take);
    attempt(client, "alice releases", alice::release);
    attempt(client, "bob takes", bob::take);
  }

  private static void attempt(String client, String what, Callable<?> call) throws Exception {
    try {
      say(client, what, call.call());
    } catch (Exception error) {
      Throwable cause = error;
      while (!String.valueOf(cause.getMessage()).startsWith("NOHOLDFAST")) {
        if (cause.getCause() == null) throw error;
        cause = cause.getCause();
      }
      say(client, what, cause.getMessage());
    }
  }

  /** Whether `take` succeeds before patience is at an end. */
  private static boolean inTheEnd(Callable<Boolean> take) throws Exception {
    long deadline = System.nanoTime() + PATIENCE_MS * 1_000_000;
    while (System.nanoTime() < deadline) {
      if (take.call()) return true;
      Thread.sleep(PAUSE_MS);
    }
    return false;
  }

  /** Repeats a call until its outcome is known. */
  private static Object known(Callable<?> call) throws Exception {
    long deadline = System.nanoTime() + PATIENCE_MS * 1_000_000;
    while (true) {
      try {
        return call.call();
      } catch (Exception error) {
        if (System.nanoTime() > deadline) throw error;
      }
      Thread.sleep(PAUSE_MS);
    }
  }
}
