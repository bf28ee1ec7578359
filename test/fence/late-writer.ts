/**
 * A process that does what everybody does: takes a lock, reads, thinks, writes. Its test stops it
 * while it thinks. It is careless on purpose: it never asks whether it still holds the lock. The
 * child is this same file; parent and child talk over the channel of `fork`.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { endWithProcess } from "../../lab/end-with-process.js";
import { HoldfastError } from "../../src/fence/index.js";
import { connect } from "../../src/index.js";
import { openTarget, type TargetSpec } from "./stores/targets.js";

interface Task {
  readonly endpoints: readonly string[];
  readonly key: string;
  readonly ttlMs: number;
  readonly target: TargetSpec;
}

type FromChild =
  | { readonly type: "holds"; readonly token: number }
  | { readonly type: "wrote"; readonly fenced: string; readonly bare: string };

export interface LateWriter {
  readonly token: number;
  pause(): void;
  /** Lets it go on: it writes both numbers, and reports how each write ended. */
  resume(): Promise<{ readonly fenced: string; readonly bare: string }>;
}

/** Starts the child; resolves when it holds the lock and has read. */
export async function startLateWriter(task: Task): Promise<LateWriter> {
  const child = fork(fileURLToPath(import.meta.url), [JSON.stringify(task)], {
    execArgv: ["--import", "tsx"],
  });
  endWithProcess(child);
  const { token } = await next(child, "holds");
  return {
    token,
    pause: () => child.kill("SIGSTOP"),
    async resume() {
      const wrote = next(child, "wrote");
      const ended = once(child, "exit");
      child.send("write");
      child.kill("SIGCONT");
      const { fenced, bare } = await wrote;
      await ended;
      return { fenced, bare };
    },
  };
}

async function next<Type extends FromChild["type"]>(
  child: ChildProcess,
  type: Type,
): Promise<FromChild & { type: Type }> {
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`the late writer ended (${code}) before it ${type}`);
  });
  const [message] = (await Promise.race([once(child, "message"), ended])) as [FromChild];
  if (message.type !== type) throw new Error(`${type} was expected, not ${message.type}`);
  return message as FromChild & { type: Type };
}

async function work({ endpoints, key, ttlMs, target: spec }: Task): Promise<void> {
  const client = await connect({ endpoints: [...endpoints], ttlMs, name: "careless" });
  const target = await openTarget(spec, false);
  const lock = await client.acquire(key);
  const read = await target.read();
  const claim = { token: lock.token, mode: lock.mode };
  const goOn = once(process, "message");
  process.send?.({ type: "holds", token: lock.token } satisfies FromChild);
  await goOn;
  const outcome = async (write: Promise<void>): Promise<string> => {
    try {
      await write;
      return "written";
    } catch (error) {
      return error instanceof HoldfastError ? error.code : String(error);
    }
  };
  const bare = await outcome(target.writeBare(read.bare + 1));
  const fenced = await outcome(target.writeFenced(claim, read.fenced + 1));
  await target.close();
  await client.close();
  process.send?.({ type: "wrote", fenced, bare } satisfies FromChild);
  process.disconnect();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await work(JSON.parse(process.argv[2] ?? ""));
}
