/**
 * The task of the running code, by Node's `AsyncLocalStorage`. Loaded only for a client that asked
 * for it: on Node 20 its first use makes promise-heavy code of the whole process slower.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { TaskContext } from "./platform.js";

export function createTaskContext<Task>(): TaskContext<Task> {
  const storage = new AsyncLocalStorage<Task | undefined>();
  return {
    current: () => storage.getStore(),
    run: (task, work) => storage.run(task, work),
  };
}
