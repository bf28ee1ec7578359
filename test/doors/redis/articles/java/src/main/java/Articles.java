import java.util.UUID;
import java.util.concurrent.Callable;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * Locks as articles about Redis teach them, written by hand with Jedis and Spring Data Redis.
 *
 * `Articles SAMPLE ADDRESS` takes the steps of one sample at this server, and prints what each came to, also
 * that the server refused it. That depends neither on time nor on chance, so that what is printed at two kinds of
 * servers can be compared. Whatever else happens ends the program.
 */
public final class Articles {
  /** Long enough for all that is done while such a lock is held. */
  static final int LONG_S = 100;
  /** The time of locks that nobody releases. */
  static final int BRIEF_S = 1;
  /** So long somebody waits for a lock that ends by its expiry. */
  private static final long PATIENCE_MS = 60_000;
  private static final long PAUSE_MS = 20;

  public static void main(String[] args) throws Exception {
    String[] address = args[1].split(":");
    String host = address[0];
    int port = Integer.parseInt(address[1]);
    switch (args[0]) {
      case "set-then-del" -> SetThenDel.run(host, port);
      case "setnx-then-expire" -> SetnxThenExpire.run(host, port);
      case "expiry-in-the-value" -> ExpiryInTheValue.run(host, port);
      case "template" -> TemplateLock.run(host, port);
      default -> throw new IllegalArgumentException(args[0]);
    }
  }

  static void tell(String what, Callable<?> step) throws Exception {
    String outcome;
    try {
      outcome = String.valueOf(step.call());
    } catch (JedisDataException error) {
      outcome = error.getMessage();
    }
    System.out.println(what + ": " + outcome);
  }

  /** A value that nobody else has. */
  static String unique() {
    return UUID.randomUUID().toString();
  }

  /** Whether `take` succeeds before patience is at an end. */
  static boolean inTheEnd(Callable<Boolean> take) throws Exception {
    long deadline = System.nanoTime() + PATIENCE_MS * 1_000_000;
    while (System.nanoTime() < deadline) {
      if (take.call()) return true;
      Thread.sleep(PAUSE_MS);
    }
    return false;
  }
}
