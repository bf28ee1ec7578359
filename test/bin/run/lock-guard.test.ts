import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { CommandProcess } from "../../../bin/run/command-process.js";
import { type GuardedLock, LockGuard } from "../../../bin/run/lock-guard.js";
import { descendantsOf, isAlive, type ProcessMark } from "../../../bin/run/process-tree.js";

/** A lock whose remaining time is what the test says. */
class HandLock implements GuardedLock {
  readonly #lost = new AbortController();
  readonly signal = this.#lost.signal;
  #remaining: () => number;
  #onRevoke: (() => void) | undefined;
  isHeld = true;
  looks = 0;

  constructor(remaining: () => number) {
    this.#remaining = remaining;
  }

  get remainingMs(): number {
    this.looks += 1;
    return this.#remaining();
  }

  on(_event: string, listener: (detail: never) => void): () => void {
    this.#onRevoke = listener as () => void;
    return () => {
      this.#onRevoke = undefined;
    };
  }

  /** An operator says that it ends then. */
  revoke(remaining: () => number): void {
    this.#remaining = remaining;
    this.#onRevoke?.();
  }

  get isWatched(): boolean {
    return this.#onRevoke !== undefined;
  }

  lose(): void {
    this.isHeld = false;
    this.#lost.abort();
  }
}

let directory = "";
let files = 0;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "holdfast-guard-"));
});

afterAll(() => rmSync(directory, { recursive: true }));

const EXPIRES = (atMs: number) => () => atMs - performance.now();
const running: CommandProcess[] = [];

afterEach(() => {
  for (const command of running.splice(0)) command.kill();
});

/** Resolves when the script has come to its `ready`: its traps are set, its children run. */
async function start(script: string, sharesTerminal = false): Promise<CommandProcess> {
  files += 1;
  const argv = ["/bin/sh", "-c", `ready() { echo $$ > $0.new; mv $0.new $0; }\n${script}`];
  argv.push(readyFile());
  const command = await CommandProcess.start({ argv, environment: {}, sharesTerminal });
  running.push(command);
  while (!existsSync(readyFile())) await turn();
  return command;
}

function readyFile(): string {
  return join(directory, `ready-${files}`);
}

/** The script that was started last, and what it has started. */
function treeOfScript(): ProcessMark[] {
  const shell = Number(readFileSync(readyFile(), "utf8"));
  // This process may have other children: other files of tests ran in it before.
  const own = descendantsOf(process.pid).filter(({ pid }) => pid === shell);
  return [...own, ...descendantsOf(shell)];
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function guard(command: CommandProcess, lock: HandLock, killGraceMs: number) {
  const losses: string[] = [];
  const guarding = new LockGuard({ command, lock, killGraceMs, onLoss: () => losses.push("lost") });
  return { guarding, losses };
}

test("a command under a lock that stays is left alone, however often the lease is renewed", async () => {
  const lock = new HandLock(() => 1_005);
  const command = await start("ready; while :; do sleep 0.01; done");
  const { guarding, losses } = guard(command, lock, 1_000);
  while (lock.looks < 5) await turn();
  expect([command.isGone, guarding.hasTerminated, losses]).toEqual([false, false, []]);
  command.forward("SIGINT");
  await command.ended;
  guarding.stop();
  expect(guarding.hasTerminated).toBe(false);
});

test("a lease that runs out ends the command by SIGTERM while the grace is still left", async () => {
  const lock = new HandLock(EXPIRES(performance.now() + 60_050));
  // The trap distinguishes SIGTERM from SIGKILL.
  const command = await start("trap 'exit 9' TERM; ready; while :; do sleep 0.01; done");
  const { guarding, losses } = guard(command, lock, 60_000);
  expect(await command.ended).toBe(9);
  guarding.stop();
  expect([guarding.hasTerminated, losses]).toEqual([true, ["lost"]]);
  expect(lock.remainingMs).toBeGreaterThan(0);
});

test("a command that ignores SIGTERM is killed when the lock ends", async () => {
  const lock = new HandLock(EXPIRES(performance.now() + 120));
  const command = await start("trap '' TERM; ready; while :; do sleep 0.01; done");
  const { guarding } = guard(command, lock, 100);
  expect(await command.ended).toBe("SIGKILL");
  guarding.stop();
  expect(guarding.hasTerminated).toBe(true);
});

test("a revoke ends the command while the grace before it is still left, whenever the next look was due", async () => {
  const lock = new HandLock(() => 3_600_000);
  const command = await start("trap 'exit 9' TERM; ready; while :; do sleep 0.01; done");
  const { guarding, losses } = guard(command, lock, 60_000);
  expect(guarding.hasTerminated).toBe(false);
  lock.revoke(EXPIRES(performance.now() + 60_000));
  expect(await command.ended).toBe(9);
  guarding.stop();
  expect([guarding.hasTerminated, losses, lock.isWatched]).toEqual([true, ["lost"], false]);
});

test("a lock that is lost at once leaves no grace", async () => {
  const lock = new HandLock(() => 60_000);
  const command = await start("trap '' TERM; ready; while :; do sleep 0.01; done");
  const { guarding, losses } = guard(command, lock, 5_000);
  lock.lose();
  expect(await command.ended).toBe("SIGKILL");
  guarding.stop();
  expect([guarding.hasTerminated, losses]).toEqual([true, ["lost"]]);
});

test("a lock that is lost during the grace ends the grace", async () => {
  const lock = new HandLock(() => 1_000);
  const command = await start("trap '' TERM; ready; while :; do sleep 0.01; done");
  const { guarding, losses } = guard(command, lock, 600_000);
  expect(guarding.hasTerminated).toBe(true);
  lock.lose();
  expect(await command.ended).toBe("SIGKILL");
  guarding.stop();
  expect(losses).toEqual(["lost"]);
});

test("what an ended command has left behind is killed with its group", async () => {
  const lock = new HandLock(() => 60_000);
  const command = await start("trap '' TERM; (while :; do sleep 0.01; done) & ready; wait");
  const marks = treeOfScript();
  expect(marks.length).toBeGreaterThanOrEqual(2);
  const { guarding } = guard(command, lock, 5_000);
  lock.lose();
  await command.ended;
  guarding.stop();
  while (marks.some(isAlive)) await turn();
});

test.runIf(process.platform === "linux")(
  "in the group of a terminal, the descendants are found and killed one by one",
  async () => {
    const lock = new HandLock(() => 60_000);
    const command = await start("trap '' TERM; (while :; do sleep 0.01; done) & ready; wait", true);
    const marks = treeOfScript();
    expect(marks.length).toBeGreaterThanOrEqual(2);
    const { guarding } = guard(command, lock, 5_000);
    lock.lose();
    expect(await command.ended).toBe("SIGKILL");
    guarding.stop();
    while (marks.some(isAlive)) await turn();
  },
);
