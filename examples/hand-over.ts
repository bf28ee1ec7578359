/**
 * A program takes a lock and hands it over to a worker in another language, here a shell script, which
 * goes on with it as the lease of an owner. Nobody else gets the lock in between. Run it against a
 * cluster (`npm start`) with
 *
 *   npx tsx examples/hand-over.ts [ENDPOINT…]
 *
 * The worker needs `curl`, and the command `holdfast` on the PATH or in this project.
 *
 * In an application, import "holdfast". The worker needs the same identity as the program, if the
 * cluster knows identities.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { connect } from "../src/index.js";

const KEY = "videos/42";
const WORKER = fileURLToPath(new URL("hand-over-worker.sh", import.meta.url));
const given = process.argv.slice(2);

await using client = await connect({ name: "upload", ...(given[0] && { endpoints: given }) });
const lock = await client.acquire(KEY);
console.log("the program has the lock");

// Anyone who knows the owner has the lock, so it is a secret, and not an argument of the worker.
const owner = randomUUID();
await lock.handOver({ owner, ttlMs: 60_000 });
console.log(`handed over, and held here: ${lock.isHeld}`);

const [first = "ws://127.0.0.1:7411"] = client.endpoints;
const worker = spawn("sh", [WORKER, KEY], {
  env: {
    ...process.env,
    HOLDFAST: first.replace(/^ws/, "http"),
    HOLDFAST_ENDPOINTS: client.endpoints.join(),
    HOLDFAST_LEASE_OWNER: owner,
  },
  stdio: "inherit",
});
// In an application the program would end here. This one shows who has the lock next.
const [code] = await once(worker, "exit");
const next = await client.tryAcquire(KEY);
console.log(`the worker ended with ${code}, and the lock is free: ${next !== undefined}`);
if (code !== 0) process.exitCode = 1;
