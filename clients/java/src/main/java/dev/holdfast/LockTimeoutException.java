package dev.holdfast;

import java.util.Map;

/** {@code LOCK_TIMEOUT}: the lock was not granted within the time of {@link LockRequest#waitUpTo}. */
public final class LockTimeoutException extends HoldfastException {
  private static final long serialVersionUID = 1;

  LockTimeoutException(String message, int status, Map<String, Object> details) {
    super("LOCK_TIMEOUT", message, status, details);
  }
}
