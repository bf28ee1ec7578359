package dev.holdfast;

import java.util.Map;

/** {@code LOCK_HELD}: another has the lock or waits for it, and the request did not want to wait. */
public final class LockHeldException extends HoldfastException {
  private static final long serialVersionUID = 1;

  LockHeldException(String message, int status, Map<String, Object> details) {
    super("LOCK_HELD", message, status, details);
  }
}
