/**
 * `holdfast inspect KEY`: who holds a lock or permits of a semaphore and who waits, in order. A key
 * that is not in use is not an error: it has no holders and no waiters.
 */
import type { Command } from "commander";
import { ask, clusterCommand, type Examples, tell } from "../../cluster/cluster-command.js";
import { keyLines } from "../../views/key-view.js";

const EXAMPLES: Examples = [
  ["holdfast inspect orders/1001", "who holds it, who waits"],
  ["holdfast inspect orders/1001 --json", "one JSON document"],
];

const NOTES = `
REQUEST is the argument of holdfast explain --request. A lock that its last
holder did not release, or that has a minimum hold time, cools down for a
while, in which nobody can take it; that is shown too.`;

export function defineInspect(command: Command): void {
  command.argument("<key>", "name of the lock");
  clusterCommand(command, { examples: EXAMPLES, notes: NOTES }).action(async (key: string) => {
    const view = await ask(command, { key }, (admin) => admin.inspect(key));
    tell(command, view, keyLines(view));
  });
}
