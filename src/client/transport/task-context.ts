/**
 * Which task the running code belongs to, carried along by the platform through whatever it awaits.
 * Only Node can; what it costs is said at `ConnectOptions.ownerFromContext`.
 */

export interface TaskContext<Task> {
  /** `undefined` outside of every `run`. */
  current(): Task | undefined;
  /** Runs `work`, and everything that begins in it, as of this task; `undefined`: of none. */
  run<Result>(task: Task | undefined, work: () => Result): Result;
}
