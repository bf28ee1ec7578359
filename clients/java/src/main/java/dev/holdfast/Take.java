package dev.holdfast;

import java.security.SecureRandom;
import java.util.HashMap;
import java.util.Map;

/**
 * One take of a lock, from its first request to the grant, however often it is sent: it has one owner and one
 * {@code Idempotency-Key}. When it is called again, it goes on, in the same place of the queue.
 */
final class Take implements Interruptible<Lock> {
  /** What a wait without end asks for; each repeat begins it again. */
  private static final long ENDLESS_MS = 3_600_000;

  /** How long one request waits, so that a node without power is noticed. */
  private static final long POLL_MS = 20_000;

  /** At least this long from one request to the next one, whatever the nodes answer. */
  private static final long PACE_MS = 100;

  private static final SecureRandom RANDOM = new SecureRandom();

  private final LockRequest wanted;
  private final Lock lock;
  private final Map<String, String> headers;
  private final Moment began = new Moment();

  Take(LockRequest wanted) {
    this.wanted = wanted;
    headers = new HashMap<>(Map.of("Holdfast-Owner", secret(), "Idempotency-Key", secret()));
    lock = new Lock(wanted, headers.get("Holdfast-Owner"));
    if (wanted.name != null) headers.put("Holdfast-Name", wanted.name);
  }

  /** How it is called. */
  interface Caller {
    Lock call(Interruptible<Lock> take) throws InterruptedException;
  }

  /** Gives back what may have been granted, unless the lock is returned; what is not given back ends with its lease. */
  Lock orGiveBack(Caller caller) throws InterruptedException {
    try {
      Lock taken = caller.call(this);
      wanted.client.keep(taken);
      taken.tend();
      return taken;
    } catch (InterruptedException | RuntimeException | Error error) {
      if (lock.isGranted() || !isRefusal(error)) lock.leave();
      throw error;
    }
  }

  @Override
  public Lock call() throws InterruptedException {
    if (!lock.isGranted()) lock.granted(grant());
    lock.secure();
    return lock;
  }

  private Answer grant() throws InterruptedException {
    long patienceMs = wanted.waitMs == 0 ? wanted.client.patienceMs : wanted.waitMs;
    while (true) {
      Question question = new Question("POST", "/v1/locks", patienceMs - began.ageMs());
      question.headers = headers;
      question.body = this::body;
      question.silenceMs = Nodes.ANSWER_MS + Math.min(wanted.waitMs, POLL_MS);
      Answer answer = wanted.client.nodes.ask(question);
      if (!answer.is("queued")) return answer;
      Thread.sleep(Math.max(0, PACE_MS - answer.sent.ageMs()));
    }
  }

  /** With the rest of the wait, which never grows. */
  private String body() {
    Map<String, Object> body = new HashMap<>(Map.of("items", wanted.items, "ttl", wanted.ttlMs));
    if (wanted.waitMs > 0) {
      body.put("wait", Math.min(ENDLESS_MS, Math.max(1, wanted.waitMs - began.ageMs())));
      body.put("poll", POLL_MS);
    }
    return Json.write(body);
  }

  /** Whether it is certain that nothing was granted. */
  private static boolean isRefusal(Throwable error) {
    if (!(error instanceof HoldfastException) || error instanceof UnavailableException) return false;
    String code = ((HoldfastException) error).code();
    return !code.equals("PROTOCOL") && !code.equals("CANCELLED");
  }

  /** 128 random bits, which prove who may end the lock. */
  private static String secret() {
    byte[] bytes = new byte[16];
    RANDOM.nextBytes(bytes);
    StringBuilder digits = new StringBuilder();
    for (byte each : bytes) digits.append(String.format("%02x", each));
    return digits.toString();
  }
}
