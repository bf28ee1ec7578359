/** The proxies that stand for the network: each direction by itself, late bytes, lost connections. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Link } from "../../jepsen-lite/cluster/link.js";

let server: ReturnType<typeof createServer>;
let link: Link;
let near: Socket;
let far: Socket;

beforeEach(async () => {
  server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  link = await Link.to({ host: "127.0.0.1", port: (server.address() as AddressInfo).port });
  near = connect(link.port, "127.0.0.1");
  near.on("error", () => undefined);
  [far] = (await once(server, "connection")) as [Socket];
  far.on("error", () => undefined);
});

afterEach(async () => {
  near.destroy();
  far.destroy();
  await link.close();
  server.close();
});

/** Collects until `length` characters came. */
async function text(socket: Socket, length: number): Promise<string> {
  let got = "";
  while (got.length < length) got += String((await once(socket, "data"))[0]);
  return got;
}

test("bytes pass both ways, in order", async () => {
  near.write("one ");
  near.write("two");
  expect(await text(far, 7)).toBe("one two");
  far.write("three");
  expect(await text(near, 5)).toBe("three");
});

test("a cut direction is silent while the other one is not, and what waited comes late", async () => {
  link.cut("forth");
  let isHeard = false;
  far.once("data", () => {
    isHeard = true;
  });
  near.write("late");
  // An answer overtakes it: had it passed at all, it would have been there before.
  far.write("early");
  expect(await text(near, 5)).toBe("early");
  expect(isHeard).toBe(false);
  const arrived = text(far, 4);
  link.open("forth", false);
  expect(await arrived).toBe("late");
});

test("with a reset what waited is lost with its connection", async () => {
  link.cut("forth");
  near.write("lost");
  // It ends with an error, which is what a reset is.
  const ended = new Promise<void>((resolve) => near.once("close", () => resolve()));
  const received: string[] = [];
  far.on("data", (bytes) => received.push(String(bytes)));
  link.open("forth", true);
  await ended;
  expect(received).toEqual([]);
});

test("the end of a connection waits behind a cut, too", async () => {
  link.cut("forth");
  near.end("last words");
  await once(near, "finish");
  const arrived = text(far, 10);
  const ended = once(far, "close");
  link.open("forth", false);
  expect(await arrived).toBe("last words");
  far.resume();
  await ended;
});

test("more than fits waits with its sender, and all of it arrives in order", async () => {
  link.cut("forth");
  const sent = Buffer.alloc(4 << 20, "abcdefghij");
  near.write(sent);
  const chunks: Buffer[] = [];
  let length = 0;
  const all = new Promise<void>((resolve) => {
    far.on("data", (bytes: Buffer) => {
      chunks.push(bytes);
      length += bytes.length;
      if (length === sent.length) resolve();
    });
  });
  link.open("forth", false);
  await all;
  expect(Buffer.concat(chunks).equals(sent)).toBe(true);
});

test("a slow direction keeps the order", async () => {
  link.slow("forth", 5, 20_000);
  const sent = "0123456789".repeat(300);
  near.write(sent);
  expect(await text(far, sent.length)).toBe(sent);
});
