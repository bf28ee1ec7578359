/** What a run has to undo, in whatever state it ends. */

/** Newest last; each is there as soon as what it undoes is begun. */
export type Undo = (() => Promise<void>)[];

/** Newest first, each of them whatever became of the others. Rejects with the first failure. */
export async function undoAll(undo: Undo): Promise<void> {
  const failures: unknown[] = [];
  for (const step of undo.toReversed()) {
    await step().catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}
