package dev.holdfast;

import java.util.Map;

/** {@code LOCK_LOST}: the lock is no longer held, or may no longer be. That is final. */
public final class LockLostException extends HoldfastException {
  private static final long serialVersionUID = 1;

  private final String reason;

  LockLostException(String key, String reason) {
    super("LOCK_LOST", "the lock is over (" + reason + "): " + key, 0, Map.of("reason", reason));
    this.reason = reason;
  }

  /**
   * Why it is over.
   *
   * @return {@code expired} if it was not extended in time; {@code revoked} or {@code stolen} by others; {@code closed}
   *     if the {@link Client} was closed; {@code released} if this program gave it back; {@code unknown} if the cluster
   *     no longer knows; or another reason that a newer cluster gives
   */
  public String reason() {
    return reason;
  }
}
