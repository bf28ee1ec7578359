/**
 * A small application in a process of its own: `application.ts idle|hold ENDPOINT…`. It connects to
 * each endpoint, says so, and then has nothing more to do.
 */
import { connect } from "../../src/index.js";

const [what, ...endpoints] = process.argv.slice(2);
for (const endpoint of endpoints) {
  const client = await connect({ endpoints: [endpoint], releaseOnExit: true });
  if (what === "hold") await client.acquire("held");
}
process.stdout.write("ready\n");
