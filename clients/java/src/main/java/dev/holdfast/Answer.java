package dev.holdfast;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** An answer that is a success, and when its request was sent. Its members are checked as they are read. */
final class Answer {
  /** Tokens fit into the whole numbers of a double. */
  private static final long TOKEN_MAX = 1L << 53;

  /** The end of a lease that has none. */
  static final long FOREVER_MS = Long.MAX_VALUE;

  final Moment sent;
  final Map<String, Object> body;

  Answer(Moment sent, Map<String, Object> body) {
    this.sent = sent;
    this.body = body;
  }

  boolean is(String name) {
    return Boolean.TRUE.equals(body.get(name));
  }

  /** Why the owner has nothing; "unknown" if the answer does not say. */
  String reason() {
    return reasonIn(body);
  }

  static String reasonIn(Map<String, Object> members) {
    Object reason = members.get("reason");
    return reason instanceof String ? (String) reason : "unknown";
  }

  long token() {
    Object token = body.get("token");
    if (!(token instanceof Long) || (Long) token < 1 || (Long) token > TOKEN_MAX) throw wrong("token");
    return (Long) token;
  }

  /** How long the lease may be relied on, counted from {@code sent}. */
  long trustMs() {
    Object trustMs = body.get("trustMs");
    if (trustMs == null && body.containsKey("trustMs")) return FOREVER_MS;
    if (!(trustMs instanceof Number)) throw wrong("trustMs");
    return (long) Math.floor(((Number) trustMs).doubleValue());
  }

  List<List<Integer>> slots() {
    Object slots = body.getOrDefault("slots", List.of());
    List<List<Integer>> ofAll = new ArrayList<>();
    for (Object ofOne : elements(slots)) {
      List<Integer> numbers = new ArrayList<>();
      for (Object number : elements(ofOne)) {
        if (!(number instanceof Long)) throw wrong("slots");
        numbers.add(Math.toIntExact((Long) number));
      }
      ofAll.add(Collections.unmodifiableList(numbers));
    }
    return Collections.unmodifiableList(ofAll);
  }

  private static List<?> elements(Object value) {
    if (!(value instanceof List)) throw wrong("slots");
    return (List<?>) value;
  }

  private static HoldfastException wrong(String name) {
    return HoldfastException.of("PROTOCOL", "the answer of the node has no right " + name, 0, Map.of());
  }
}
