package dev.holdfast;

import java.util.Map;

/**
 * No node could serve the request in time. The code is {@code UNAVAILABLE}, or what the last node said: {@code BUSY},
 * {@code INTERNAL}, {@code DISK_FULL}. A take that fails like this is given back if it was granted unseen.
 */
public final class UnavailableException extends HoldfastException {
  private static final long serialVersionUID = 1;

  UnavailableException(String code, String message, int status, Map<String, Object> details) {
    super(code, message, status, details);
  }
}
