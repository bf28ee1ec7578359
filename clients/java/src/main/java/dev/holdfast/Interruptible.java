package dev.holdfast;

/** A call that waits, and that can be begun again with the same effect. */
interface Interruptible<T> {
  T call() throws InterruptedException;

  /** Begins the call again when the thread is interrupted, and leaves the thread interrupted. */
  static <T> T uninterruptibly(Interruptible<T> call) {
    boolean wasInterrupted = false;
    try {
      while (true) {
        try {
          return call.call();
        } catch (InterruptedException interrupt) {
          wasInterrupted = true;
        }
      }
    } finally {
      if (wasInterrupted) Thread.currentThread().interrupt();
    }
  }
}
