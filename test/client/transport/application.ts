/**
 * A small application in a process of its own: `application.ts idle|hold|finish|step ENDPOINT…`. It
 * connects to each endpoint, reports that, and then does nothing. With `finish` it ends by itself
 * when it is asked to; with `step` its wall clock is set forward, and it ends with exit code 8 if
 * that cost it its lock.
 */
import { once } from "node:events";
import { connect } from "../../../src/index.js";

const [what, ...endpoints] = process.argv.slice(2);
for (const endpoint of endpoints) {
  if (what === "finish") {
    process.once("SIGTERM", async () => {
      await once(client.closed, "abort");
      await using last = await connect({ endpoints: [endpoint] });
      await last.using("last words", () => undefined);
      process.exitCode = 7;
    });
  }
  const client = await connect({ endpoints: [endpoint], releaseOnExit: true });
  if (what === "idle") continue;
  const lock = await client.acquire("held");
  if (what !== "step") continue;
  const trueNow = Date.now;
  Date.now = () => trueNow() + 3_600_000;
  process.exitCode = lock.isHeld && (await lock.release()).released ? 0 : 8;
  await client.close();
}
process.stdout.write("ready\n");
