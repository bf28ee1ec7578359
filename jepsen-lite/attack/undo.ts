/** The steps that undo a run, in whatever state it ends. */

/** Newest last; each is added when what it undoes begins. */
export type Undo = (() => Promise<void>)[];

/** Newest first, each even if others failed. Rejects with the first failure. */
export async function undoAll(undo: Undo): Promise<void> {
  const failures: unknown[] = [];
  for (const step of undo.toReversed()) {
    await step().catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}
