package dev.holdfast;

import java.util.Map;

/** A refusal or a failure, with a code that does not change its meaning. Messages can change. */
public class HoldfastException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final String code;
  private final int status;

  @SuppressWarnings("serial") // The maps of Json can be serialized.
  private final Map<String, Object> details;

  HoldfastException(String code, String message, int status, Map<String, Object> details) {
    super(code + ": " + message);
    this.code = code;
    this.status = status;
    this.details = details;
  }

  /** The one for the code; an {@link UnavailableException} if the status says that no node could serve the request. */
  static HoldfastException of(String code, String message, int status, Map<String, Object> details) {
    switch (code) {
      case "LOCK_HELD":
        return new LockHeldException(message, status, details);
      case "LOCK_TIMEOUT":
        return new LockTimeoutException(message, status, details);
      default:
        return Nodes.REPEATABLE.contains(status)
            ? new UnavailableException(code, message, status, details)
            : new HoldfastException(code, message, status, details);
    }
  }

  /**
   * Which failure it is.
   *
   * @return one of the codes of {@code docs/reference/errors.md}, such as {@code LOCK_HELD}
   */
  public String code() {
    return code;
  }

  /**
   * The status of HTTP.
   *
   * @return 0 if no answer arrived
   */
  public int status() {
    return status;
  }

  /**
   * Facts that depend on the code, such as {@code blockers} of {@code LOCK_HELD}.
   *
   * @return values as {@link Client#look} gives them; cannot be changed
   */
  public Map<String, Object> details() {
    return details;
  }
}
