package dev.holdfast;

import java.util.Map;

/** A change of a key, from {@link Client#watch}. */
public final class Change {
  private final String type;
  private final Map<String, Object> data;

  Change(String type, Map<String, Object> data) {
    this.type = type;
    this.data = data;
  }

  /**
   * What happened.
   *
   * @return {@code queued}: a request began to wait; {@code left}: it ended without a grant; {@code granted}; {@code
   *     ended}; {@code converted}, {@code updated} and {@code moved}: a hold has another mode or token, value or
   *     holder; {@code opened}: nothing keeps the key closed any more. {@code begun}: the watch sees what comes after
   *     this; {@code reset}: the cluster has forgotten some changes, so {@link Client#look} at what matters again.
   *     Newer clusters may have others
   */
  public String type() {
    return type;
  }

  /**
   * Which key.
   *
   * @return empty with {@code begun} and {@code reset}
   */
  public String key() {
    return data.get("key") instanceof String ? (String) data.get("key") : "";
  }

  /**
   * The fencing token of the hold.
   *
   * @return 0 of a request that waits
   */
  public long token() {
    return data.get("token") instanceof Long ? (Long) data.get("token") : 0;
  }

  /**
   * All that the cluster says of it.
   *
   * @return {@code Change} of {@code docs/reference/openapi.json}, with values as {@link Client#look} gives them
   */
  public Map<String, Object> data() {
    return data;
  }

  /** For logs. */
  @Override
  public String toString() {
    return type + " " + data;
  }
}
