import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/**
 * What the workers of a load count, and the lines that they exchange with the bench; load-lines.ts
 * says which. The subclasses connect to a service and run the workers.
 */
abstract class Load {
  static final long ERROR_PAUSE_MS = 50;
  private static final int SUB_BUCKET_BITS = 7;
  private static final long MICROS_MAX = Integer.MAX_VALUE;
  private static final int TEXT_MAX = 60;

  final List<String> addresses = new ArrayList<>();
  final List<String> keys = new ArrayList<>();
  int connections;
  int workers;
  boolean isShared;

  private final LongAdder cycles = new LongAdder();
  private final AtomicLong maxMicros = new AtomicLong();
  /** The buckets of histogram.ts: exact up to 128 microseconds, then 128 for each doubling. */
  private final AtomicLongArray buckets = new AtomicLongArray(bucketOf(MICROS_MAX) + 1);
  private final Map<String, LongAdder> errors = new ConcurrentHashMap<>();
  private final AtomicLong overlaps = new AtomicLong();
  private final AtomicLong staleTokens = new AtomicLong();
  private final Map<String, Witnessed> witnessed = new ConcurrentHashMap<>();

  /** What one lock has shown: how many hold it, and the last token. */
  private static final class Witnessed {
    final AtomicLong holders = new AtomicLong();
    final AtomicLong lastToken = new AtomicLong(Long.MIN_VALUE);
  }

  /** Returns when all workers run, each on {@link #keyOf} its number, until the process ends. */
  abstract void begin() throws Exception;

  final String keyOf(int worker) {
    return keys.get(worker % keys.size());
  }

  /** To be called at the grant, before anything else is done with the lock. */
  final void granted(String key, long token, long beganNanos) {
    long micros = Math.min((System.nanoTime() - beganNanos) / 1_000, MICROS_MAX);
    buckets.incrementAndGet(bucketOf(micros));
    maxMicros.accumulateAndGet(micros, Math::max);
    Witnessed seen = witnessed.computeIfAbsent(key, name -> new Witnessed());
    if (seen.holders.incrementAndGet() != 1) overlaps.incrementAndGet();
    if (seen.lastToken.getAndSet(token) >= token) staleTokens.incrementAndGet();
  }

  /** To be called before the release. */
  final void releasing(String key) {
    witnessed.get(key).holders.decrementAndGet();
  }

  final void released() {
    cycles.increment();
  }

  final void failed(String text) {
    String name = text == null ? "?" : text.substring(0, Math.min(text.length(), TEXT_MAX));
    errors.computeIfAbsent(name, key -> new LongAdder()).increment();
  }

  /** Reads the lines of the bench until it is gone, and ends the process. */
  final void serve() {
    int code = 1;
    try (BufferedReader input = new BufferedReader(new InputStreamReader(System.in))) {
      for (String line = input.readLine(); line != null; line = input.readLine()) take(line);
      code = 0;
    } catch (Exception error) {
      print("{\"event\":\"failed\",\"message\":" + quoted(error.toString()) + "}");
    }
    Runtime.getRuntime().halt(code);
  }

  private void take(String line) throws Exception {
    int space = line.indexOf(' ');
    String word = space < 0 ? line : line.substring(0, space);
    String value = space < 0 ? "" : line.substring(space + 1);
    switch (word) {
      case "address" -> addresses.add(value);
      case "key" -> keys.add(value);
      case "connections" -> connections = Integer.parseInt(value);
      case "workers" -> workers = Integer.parseInt(value);
      case "shared" -> isShared = value.equals("yes");
      case "seconds" -> endAfter(Long.parseLong(value));
      case "start" -> {
        begin();
        print("{\"event\":\"start\"}");
      }
      case "reset" -> {
        reset();
        print("{\"event\":\"reset\"}");
      }
      case "report" -> print(report());
      case "stop" -> Runtime.getRuntime().halt(0);
      default -> throw new IllegalArgumentException("unknown line: " + word);
    }
  }

  private static void endAfter(long seconds) {
    Thread end =
        new Thread(
            () -> {
              pause(seconds * 1_000);
              Runtime.getRuntime().halt(1);
            });
    end.setDaemon(true);
    end.start();
  }

  static void pause(long milliseconds) {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException error) {
      throw new IllegalStateException(error);
    }
  }

  private void reset() {
    cycles.reset();
    maxMicros.set(0);
    for (int bucket = 0; bucket < buckets.length(); bucket++) buckets.set(bucket, 0);
    errors.clear();
  }

  private String report() {
    StringJoiner pairs = new StringJoiner(",", "[", "]");
    for (int bucket = 0; bucket < buckets.length(); bucket++) {
      long count = buckets.get(bucket);
      if (count > 0) pairs.add("[" + largestIn(bucket) + "," + count + "]");
    }
    StringJoiner failures = new StringJoiner(",", "{", "}");
    errors.forEach((text, count) -> failures.add(quoted(text) + ":" + count.sum()));
    return "{\"event\":\"report\",\"cycles\":%d,\"acquires\":%s,\"maxMicros\":%d,\"errors\":%s,"
        .formatted(cycles.sum(), pairs, maxMicros.get(), failures)
        + "\"violations\":{\"overlap\":%d,\"token\":%d}}".formatted(overlaps.get(), staleTokens.get());
  }

  private static int bucketOf(long micros) {
    if (micros < 1 << SUB_BUCKET_BITS) return (int) micros;
    int shift = 63 - Long.numberOfLeadingZeros(micros) - SUB_BUCKET_BITS;
    return (shift << SUB_BUCKET_BITS) + (int) (micros >> shift);
  }

  private static long largestIn(int bucket) {
    int shift = Math.max(0, (bucket >> SUB_BUCKET_BITS) - 1);
    return ((long) bucket - ((long) shift << SUB_BUCKET_BITS) + 1 << shift) - 1;
  }

  private static String quoted(String text) {
    StringBuilder quoted = new StringBuilder("\"");
    for (char each : text.toCharArray()) {
      if (each == '"' || each == '\\') quoted.append('\\').append(each);
      else quoted.append(each < ' ' ? ' ' : each);
    }
    return quoted.append('"').toString();
  }

  private static void print(String line) {
    System.out.println(line);
    System.out.flush();
  }
}
