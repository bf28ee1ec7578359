/**
 * A small application in a process of its own: `application.ts ENDPOINT idle|hold`. It connects,
 * says so, and then has nothing more to do.
 */
import { connect } from "../../src/index.js";

const [endpoint = "", what] = process.argv.slice(2);
const client = await connect({ endpoints: [endpoint], releaseOnExit: true });
if (what === "hold") await client.acquire("held");
process.stdout.write("ready\n");
