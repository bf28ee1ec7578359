/**
 * `client.locks` is a `LockManager` of TypeScript's own library for browsers, and needs nothing of
 * that library itself.
 */
import { expect, test } from "vitest";
import { diagnosticsOf, SDK } from "./compiler.js";

const PLAIN = ["ES2023", "ESNext.Disposable"];
const BROWSER = [...PLAIN, "DOM"];

/** A program that was written for `navigator.locks`, and is given the cluster's. */
const PROGRAM = `
  import { connect } from ${SDK};

  const client = await connect();
  const locks: Pick<LockManager, "request" | "query"> = client.locks;

  export async function work(locks: Pick<LockManager, "request" | "query">): Promise<number> {
    const options: LockOptions = { mode: "shared", ifAvailable: true };
    const granted: LockGrantedCallback<Promise<number>> = async (lock: Lock | null) => {
      return lock === null ? 0 : lock.name.length;
    };
    const snapshot: LockManagerSnapshot = await locks.query();
    for (const info of snapshot.held ?? []) console.log(info.name, info.mode, info.clientId);
    return await locks.request("orders", options, granted);
  }

  await work(locks);
  await work(client.locks);
  await work(navigator.locks);
  // The other way round something is missing: a token to fence with.
  await client.locks.request("orders", (lock) => lock?.token);
`;

test("a program written for navigator.locks takes client.locks as it is", async () => {
  expect(await diagnosticsOf(PROGRAM, BROWSER)).toBe("");
});

test("the compiler would say so if it did not", async () => {
  const wrong = PROGRAM.replace('"request" | "query"> =', '"request" | "query" | "steal"> =');
  expect(await diagnosticsOf(wrong, BROWSER)).toContain('"steal"');
  const backwards = `
    import type { LockManager as ClusterLocks } from ${SDK};
    export const locks: ClusterLocks = navigator.locks;
  `;
  expect(await diagnosticsOf(backwards, BROWSER)).toContain("RequestedLock");
});

test("a program without that library has all types of its own", async () => {
  const program = `
    import { connect, type LockManager, type LockRequestOptions } from ${SDK};
    const options: LockRequestOptions = { mode: "shared" };
    export const locks: LockManager = (await connect()).locks;
    export const token = await locks.request("orders", options, (lock) => lock?.token);
  `;
  expect(await diagnosticsOf(program, PLAIN)).toBe("");
  expect(await diagnosticsOf(PROGRAM, PLAIN)).toContain("LockManager");
});
