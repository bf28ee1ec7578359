/**
 * A process that opens the store of a damaged audit and reports what it finds in it. `level` trusts
 * its files, so one of its assertions may end a process that opens damaged ones.
 */
import { damageOf } from "../../../src/storage/index.js";
import { openLevelStore } from "../../../src/storage/level-store.js";
import { Life, tokensOf } from "./audit-life.js";

export interface AuditQuestion {
  readonly path: string;
  /** The log begins after this entry. */
  readonly snapshotIndex: number;
  /** The last entry that was applied. */
  readonly last: number;
  readonly keys: readonly string[];
}

/** `undefined` in place of the findings: the store cannot be opened at all. */
export interface AuditAnswer {
  readonly findings: readonly AuditFinding[] | undefined;
}

export interface AuditFinding {
  readonly key: string;
  readonly tokens: readonly number[];
  readonly isTruncated: boolean;
}

async function answer(question: AuditQuestion): Promise<AuditAnswer> {
  const { path, snapshotIndex, last, keys } = question;
  let life: Life;
  try {
    life = await Life.start(() => openLevelStore(path), { snapshotIndex });
  } catch (error) {
    if (damageOf(error) === undefined) throw error;
    return { findings: undefined };
  }
  life.apply(snapshotIndex + 1, last);
  await life.settle();
  const findings: AuditFinding[] = [];
  for (const key of keys) {
    const { tenures, lost } = await life.find(key);
    const { completeAfter, state } = life.audit.status;
    // What cannot be written any more is in memory; then `completeAfter` shows it.
    const isTruncated = lost.length > 0 || completeAfter > 0 || state === "failed";
    findings.push({ key, tokens: tokensOf(tenures), isTruncated });
  }
  await life.stop();
  return { findings };
}

// The process that asked is gone, and nobody would end this one.
process.on("disconnect", () => process.exit(1));
process.on("message", (question: AuditQuestion) => {
  answer(question).then(
    (found) => process.send?.(found),
    (error: Error) => {
      process.stderr.write(`${error.stack}\n`);
      process.exit(1);
    },
  );
});
