/** What one user does with a client. A call answers whether it came about, and fails if that is not known. */
interface UserLock {
  boolean take() throws Exception;

  boolean extend() throws Exception;

  /** What the client says; some say nothing. */
  Object release() throws Exception;
}
