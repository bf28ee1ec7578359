package dev.holdfast;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * A lock that is held until it is released, or until it is lost. A daemon thread extends it at a third of its TTL. Its
 * time counts from before the request was sent that the cluster answered. When it may be over, the lock is lost, and
 * stays lost. Any thread may use it and release it.
 */
public final class Lock implements AutoCloseable {
  private static final Logger LOG = System.getLogger("dev.holdfast");

  /** Why a lock is over that was given back. */
  private static final String RELEASED = "released";

  /** The longest pause between two looks at the clock, so that a sleep of the machine is noticed. */
  private static final long LOOK_MS = 1_000;

  private final Client client;
  private final String key;

  /** What names the lock: one key is enough, whatever other keys it has. */
  private final String query;

  private final Map<String, String> proof;
  private final long ttlMs;
  private final CompletableFuture<LockLostException> lost = new CompletableFuture<>();

  private volatile long token;
  private volatile List<List<Integer>> slots = List.of();

  /** Until when it is believed: {@code trustMs} after {@code sent}. Guarded by this, as the next four are. */
  private Moment sent = new Moment();

  private long trustMs;

  /** Why it is over; null: it is not, as far as is known. Set once, unless a release finds a loss. */
  private String reason;

  /** Whether the cluster has ended it because of a release. */
  private boolean isGivenBack;

  private boolean isReleaseCalled;

  /** When an extend was last begun. Only the thread of the timer uses it. */
  private Moment tried = new Moment();

  private volatile boolean isExtending;

  Lock(LockRequest wanted, String owner) {
    client = wanted.client;
    key = (String) wanted.items.get(0).get("key");
    query = Client.keyOf(key);
    proof = Map.of("Holdfast-Owner", owner);
    ttlMs = wanted.ttlMs;
  }

  /**
   * The fencing token: larger than all tokens granted before it, and smaller than 2<sup>53</sup>. Send it with every
   * write to what the lock protects.
   *
   * @return at least 1
   */
  public long token() {
    return token;
  }

  /**
   * The numbers of the permits, of each semaphore in the order of the keys.
   *
   * @return empty without a semaphore
   */
  public List<List<Integer>> slots() {
    return slots;
  }

  /**
   * Whether this process holds the lock now. It looks at the clock, and asks no node.
   *
   * @return false forever, once it was false
   */
  public boolean isHeld() {
    synchronized (this) {
      if (reason != null) return false;
      if (leftMs() > 0) return true;
    }
    lose("expired");
    return false;
  }

  /**
   * Throws unless the lock is held now. Call it between the steps of your work, and send the {@link #token} as well.
   *
   * @throws LockLostException {@code LOCK_LOST}, with the reason; {@code released} after a release
   */
  public void check() {
    if (!isHeld()) throw loss();
  }

  /**
   * For how long the lock can be relied on without another extend.
   *
   * @return zero if it is over; nearly 300 million years if it has no end
   */
  public Duration remaining() {
    if (!isHeld()) return Duration.ZERO;
    synchronized (this) {
      return Duration.ofMillis(Math.max(0, leftMs()));
    }
  }

  /**
   * Completes when the lock is lost, and never after a release. It is completed by a thread of the client, soon after
   * {@link #isHeld} turns false.
   *
   * @return a future of its own for each call; completing or cancelling it has no effect on the lock
   */
  public CompletableFuture<LockLostException> lost() {
    return lost.copy();
  }

  /**
   * Calls the action when the lock is lost, or at once if it is lost already, in a thread of the client.
   *
   * @param action may wait
   * @return this
   */
  public Lock onLost(Consumer<? super LockLostException> action) {
    lost.thenAcceptAsync(action, client.workers).exceptionally(error -> {
      LOG.log(Level.WARNING, "what was called for the loss of " + key + " failed", error);
      return null;
    });
    return this;
  }

  /**
   * Makes the lock last at least this long from now, for a step during which nothing can extend it. It never shortens
   * it, and never revives it.
   *
   * @param time more than 250 milliseconds, at most the setting {@code leaseTtlMsMax} of the cluster
   * @throws IllegalArgumentException if it is less than a millisecond
   * @throws InterruptedException if the thread is interrupted before the answer comes; the lock stays held
   * @throws LockLostException if the lock is over
   * @throws UnavailableException if no node could serve the request within the patience of the client; the lock stays
   *     held until its time is over
   * @throws HoldfastException {@code FORBIDDEN}, {@code INVALID_ARGUMENT} and others; the lock stays held
   */
  public void extend(Duration time) throws InterruptedException {
    if (time.toMillis() < 1) throw new IllegalArgumentException("a lock is extended by at least one millisecond");
    check();
    extend(time.toMillis(), client.patienceMs, Nodes.ANSWER_MS);
    check();
  }

  /**
   * Gives the lock back, with all of its keys. Cannot be interrupted. Does nothing if it was given back before.
   *
   * @throws LockLostException if the lock was lost before: what was done under it may have been done twice
   * @throws UnavailableException if no node could serve the request within the patience of the client; the lock then
   *     ends with its lease
   * @throws HoldfastException {@code UNAUTHENTICATED}, {@code FORBIDDEN} and others; the lock then ends with its lease
   */
  public void release() {
    isHeld(); // Notices that the time is over.
    synchronized (this) {
      isReleaseCalled = true;
      if (isGivenBack) return;
      if (reason == null) reason = RELEASED;
    }
    client.forget(this);
    if (!loss().reason().equals(RELEASED)) {
      leave();
      throw loss();
    }
    Answer answer = giveBack(new Question("DELETE", "/v1/lock?" + query, client.patienceMs));
    // A repeat finds what an earlier request, whose answer did not arrive, has released.
    boolean isReleased = answer.is("released") || answer.reason().equals(RELEASED);
    synchronized (this) {
      if (isReleased) isGivenBack = true;
      else reason = answer.reason();
    }
    if (isReleased) return;
    notifyOfLoss();
    throw loss();
  }

  /**
   * As {@link #release}, for a {@code try} block. Does nothing if {@code release} was called before. If no node
   * serves, it logs that instead of throwing: the work was done under the lock, which ends with its lease.
   *
   * @throws LockLostException if the lock was lost before
   */
  @Override
  public void close() {
    synchronized (this) {
      if (isReleaseCalled) return;
    }
    try {
      release();
    } catch (LockLostException loss) {
      throw loss;
    } catch (HoldfastException error) {
      LOG.log(Level.WARNING, key + " was not released, and ends with its lease: " + error.getMessage());
    }
  }

  /** For logs. */
  @Override
  public String toString() {
    return "Lock[" + key + ", token " + token + ", " + (isHeld() ? "held" : loss().reason()) + "]";
  }

  boolean isGranted() {
    return token != 0;
  }

  /** Takes over what the cluster granted. */
  void granted(Answer answer) {
    slots = answer.slots();
    trust(answer);
    token = answer.token();
    tried = new Moment();
  }

  /** Extends the lock if the grant took too long to arrive. */
  void secure() throws InterruptedException {
    boolean isLate;
    synchronized (this) {
      isLate = reason == null && leftMs() <= 0;
    }
    if (isLate) extend(ttlMs, client.patienceMs, Nodes.ANSWER_MS);
    check();
  }

  /** Extends the lock at a third of its TTL, and notices that its time is over. Never waits. */
  void tend() {
    if (!isHeld()) return;
    long dueMs = ttlMs == 0 ? LOOK_MS : ttlMs / 3 - tried.ageMs();
    boolean isDue = dueMs <= 0 && !isExtending;
    long nextMs = Math.min(dueMs <= 0 ? ttlMs / 3 : dueMs, remaining().toMillis());
    client.later(this::tend, Math.max(1, Math.min(LOOK_MS, nextMs)));
    if (!isDue) return;
    tried = new Moment();
    isExtending = true;
    try {
      client.workers.execute(this::beat);
    } catch (OutOfMemoryError noThread) {
      isExtending = false;
      LOG.log(Level.WARNING, key + " is not extended: " + noThread.getMessage());
    }
  }

  /** Gives back what it may have, as well as it can; the rest ends with its lease. Takes five seconds at most. */
  void leave() {
    synchronized (this) {
      if (reason == null) reason = RELEASED;
    }
    Question question = new Question("DELETE", "/v1/lock?" + query, 0);
    question.isOnceEach = true;
    question.silenceMs = client.nodes.shareOf(Nodes.ANSWER_MS);
    try {
      giveBack(question);
    } catch (HoldfastException error) {
      LOG.log(Level.DEBUG, key + " was not given back, and ends with its lease: " + error.getMessage());
    }
  }

  /** Ends it, if it has not ended before. */
  void lose(String why) {
    synchronized (this) {
      if (reason != null) return;
      reason = why;
    }
    client.forget(this);
    notifyOfLoss();
  }

  private void beat() {
    try {
      extend(ttlMs, remaining().toMillis(), Math.min(Nodes.ANSWER_MS, ttlMs / 3));
    } catch (InterruptedException | RuntimeException error) {
      if (isHeld()) LOG.log(Level.WARNING, key + " is not extended: " + error.getMessage());
    } finally {
      isExtending = false;
    }
  }

  private void extend(long ms, long patienceMs, long silenceMs) throws InterruptedException {
    Question question = new Question("POST", "/v1/lock/extend?" + query + "&ttl=" + ms, patienceMs);
    question.headers = proof;
    question.silenceMs = silenceMs;
    question.isOver = this::isOver;
    try {
      trust(client.nodes.ask(question));
    } catch (HoldfastException error) {
      if (!error.code().equals("NOT_HELD")) throw error;
      lose(Answer.reasonIn(error.details()));
    }
  }

  private Answer giveBack(Question question) {
    question.headers = proof;
    return Interruptible.uninterruptibly(() -> client.nodes.ask(question));
  }

  /** Believes the answer, unless an earlier one goes further. */
  private synchronized void trust(Answer answer) {
    long newMs = answer.trustMs();
    if (newMs != Answer.FOREVER_MS && newMs - answer.sent.ageMs() <= leftMs()) return;
    sent = answer.sent;
    trustMs = newMs;
  }

  private synchronized boolean isOver() {
    return reason != null;
  }

  private synchronized long leftMs() {
    return trustMs == Answer.FOREVER_MS ? trustMs : trustMs - sent.ageMs();
  }

  private void notifyOfLoss() {
    lost.completeAsync(this::loss, client.workers);
  }

  private synchronized LockLostException loss() {
    return new LockLostException(key, reason);
  }
}
