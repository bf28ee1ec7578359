/**
 * Locks of a Holdfast cluster over its HTTP API, for Java 11 and later, with nothing but the JDK.
 *
 * <pre>{@code
 * try (Client client = Client.create();
 *     Lock lock = client.lock("orders/1001").waitUpTo(Duration.ofSeconds(10)).acquire()) {
 *   write(lock.token());
 *   lock.check();
 * }
 * }</pre>
 *
 * <p>Each lock is a lease of a random owner that a daemon thread extends. Its time counts from before the request that
 * it answers was sent, and never begins again: when it may be over, the lock is lost for good. Nothing here believes in
 * a lock for longer than the cluster promised.
 *
 * <p>All failures that a correct program can get are {@link dev.holdfast.HoldfastException}s with one of the codes of
 * {@code docs/reference/errors.md}, which do not change. All classes may be shared by threads.
 */
package dev.holdfast;
