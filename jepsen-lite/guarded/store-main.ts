/**
 * The resource that the locks of the guarded workloads protect: a small real store, one SQLite file
 * behind a TCP port, in a process of its own. A write with a token is one conditional update that
 * refuses a token smaller than the largest it has seen; a write without one is accepted unchecked.
 * A read shows its token too: if only writes were compared, an older holder could write between the
 * read and the write of a newer one, which would then overwrite a value that it has not read. It
 * knows nothing of locks.
 */
import { once } from "node:events";
import { createRequire } from "node:module";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { StoreAnswer, StoreRequest } from "./store-messages.js";

type Sqlite = typeof import("node-sqlite3-wasm");

// A CommonJS package whose named exports Node does not find.
const { Database } = createRequire(import.meta.url)("node-sqlite3-wasm") as Sqlite;

const [file = "", host = "127.0.0.1"] = process.argv.slice(2);

const database = new Database(file);
// It need not survive a power cut: the test is who writes, not what survives.
database.exec("pragma synchronous = off");
database.exec(
  "create table if not exists cell (key text primary key, value integer, fence integer)",
);

const reading = database.prepare("select value from cell where key = ?");
const fencing = database.prepare(
  `insert into cell (key, value, fence) values (:key, 0, :fence)
   on conflict (key) do update set fence = :fence where :fence >= fence`,
);
const writing = database.prepare(
  `insert into cell (key, value, fence) values (:key, :value, :fence)
   on conflict (key) do update set value = :value, fence = max(fence, :fence)
   where :fence = 0 or :fence >= fence`,
);

function answer(request: StoreRequest): StoreAnswer {
  const [id, op, key] = request;
  if (op === "read") {
    const [, , , token] = request;
    const isRefused = token > 0 && fencing.run({ ":key": key, ":fence": token }).changes === 0;
    return [id, isRefused ? false : Number(reading.get([key])?.["value"] ?? 0)];
  }
  const [, , , value, token] = request;
  const { changes } = writing.run({ ":key": key, ":value": value, ":fence": token });
  return [id, changes > 0];
}

/** `undefined`: an incomplete line whose client was killed while writing it. */
function requestOf(line: string): StoreRequest | undefined {
  try {
    return JSON.parse(line) as StoreRequest;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function serve(socket: Socket): void {
  socket.setNoDelay(true);
  socket.on("error", () => undefined);
  const lines = createInterface({ input: socket });
  // It repeats the socket's error of a killed client; without a listener that would end the store.
  lines.on("error", () => undefined);
  lines.on("line", (line) => {
    const request = requestOf(line);
    if (request === undefined) return;
    const result = answer(request);
    if (!socket.destroyed) socket.write(`${JSON.stringify(result)}\n`);
  });
}

const server = createServer(serve).listen(0, host);
await once(server, "listening");
process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
// The harness is gone, or done.
process.stdin.resume().on("end", () => {
  reading.finalize();
  fencing.finalize();
  writing.finalize();
  database.close();
  process.exit(0);
});
