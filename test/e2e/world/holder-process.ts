/**
 * A client in a process of its own that acquires one lock, so that a test can kill or pause it. The
 * child runs this same file; parent and child use the channel of `fork`.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { endWithProcess } from "../../../lab/end-with-process.js";
import { connect, type HoldfastError, type ReleaseResult } from "../../../src/index.js";

type FromChild =
  | { readonly type: "held"; readonly token: number }
  | { readonly type: "lost"; readonly code: string; readonly reason: unknown }
  | { readonly type: "beat"; readonly isHeld: boolean }
  | { readonly type: "released"; readonly result: ReleaseResult };

export interface Holder extends AsyncDisposable {
  readonly token: number;
  /** What the child's own timer saw of `lock.isHeld` first after `resume`. */
  heldOnWaking(): Promise<boolean>;
  pause(): void;
  resume(): void;
  kill(signal: NodeJS.Signals): Promise<void>;
  lost(): Promise<{ code: string; reason: unknown }>;
  release(): Promise<ReleaseResult>;
}

/** Starts the child and waits until it holds `key`. */
export async function startHolder(
  endpoints: readonly string[],
  key: string,
  ttlMs: number,
): Promise<Holder> {
  const child = fork(fileURLToPath(import.meta.url), [JSON.stringify({ endpoints, key, ttlMs })], {
    execArgv: ["--import", "tsx"],
  });
  endWithProcess(child);
  const messages = new Map<FromChild["type"], FromChild>();
  let isWaking = false;
  child.on("message", (message: FromChild) => {
    // Only the first beat after a pause shows anything.
    if (message.type === "beat") {
      if (!isWaking) return;
      isWaking = false;
    }
    messages.set(message.type, message);
    child.emit(`holder:${message.type}`);
  });

  async function wait<T extends FromChild["type"]>(type: T): Promise<FromChild & { type: T }> {
    while (!messages.has(type)) {
      if (child.exitCode !== null) throw new Error(`holder exited before ${type}`);
      await Promise.race([once(child, `holder:${type}`), once(child, "exit")]);
    }
    return messages.get(type) as FromChild & { type: T };
  }

  const { token } = await wait("held");
  return {
    token,
    async heldOnWaking() {
      return (await wait("beat")).isHeld;
    },
    pause() {
      child.kill("SIGSTOP");
    },
    resume() {
      isWaking = true;
      child.kill("SIGCONT");
    },
    kill: (signal) => end(child, signal),
    async lost() {
      const { code, reason } = await wait("lost");
      return { code, reason };
    },
    async release() {
      child.send("release");
      return (await wait("released")).result;
    },
    [Symbol.asyncDispose]: () => end(child, "SIGKILL"),
  };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill(signal);
  await exited;
}

/** The child's side. */
async function hold(options: { endpoints: string[]; key: string; ttlMs: number }): Promise<void> {
  const send = (message: FromChild): void => void process.send?.(message);
  const client = await connect({ endpoints: options.endpoints, ttlMs: options.ttlMs });
  const lock = await client.acquire(options.key);
  lock.signal.addEventListener("abort", () => {
    const error = lock.signal.reason as HoldfastError;
    send({ type: "lost", code: error.code, reason: error.details["reason"] });
  });
  // Armed before any timer of a later turn, so it runs as early as anything after a pause.
  setInterval(() => send({ type: "beat", isHeld: lock.isHeld }), 10);
  process.on("message", async () => send({ type: "released", result: await lock.release() }));
  send({ type: "held", token: lock.token });
}

const [, script, options] = process.argv;
if (script === fileURLToPath(import.meta.url) && options !== undefined && process.send) {
  await hold(JSON.parse(options));
}
