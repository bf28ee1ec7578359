/** One address for all who dial a node, and still a road for each of them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { diallingProcess } from "../../jepsen-lite/cluster/dialling-process.js";
import { Link } from "../../jepsen-lite/cluster/link.js";
import { SharedAddress } from "../../jepsen-lite/cluster/shared-address.js";
import { endWithProcess } from "../../lab/end-with-process.js";

const HOST = "127.0.0.1";
const IS_LINUX = process.platform === "linux";
if (!IS_LINUX) console.warn("NOT TESTED: who dialled a connection is read from /proc of Linux");

/** Dials the port in its argument, says its name, and prints what it hears. */
const DIALLER = `
const socket = require("node:net").connect(Number(process.argv[1]), "${HOST}");
socket.on("error", () => undefined);
socket.on("close", () => console.log("closed"));
socket.on("data", (bytes) => console.log(String(bytes)));
process.stdin.on("data", (bytes) => socket.write(bytes)).on("end", () => process.exit(0));
`;

/** Answers each piece with itself. */
async function echo(): Promise<Server> {
  const server = createServer((socket) => socket.on("error", () => undefined).pipe(socket));
  await once(server.listen(0, HOST), "listening");
  return server;
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

describe.skipIf(!IS_LINUX)("who dials a node", () => {
  let server: Server;
  let links: Link[];
  let shared: SharedAddress;
  let other: ChildProcess | undefined;
  let near: Socket | undefined;

  beforeEach(async () => {
    server = await echo();
    links = await Promise.all([0, 1].map(() => Link.to({ host: HOST, port: portOf(server) })));
    shared = await SharedAddress.open([
      { link: links[0] as Link, pids: () => [process.pid] },
      { link: links[1] as Link, pids: () => [undefined, other?.pid] },
    ]);
  });

  afterEach(async () => {
    near?.destroy();
    other?.kill("SIGKILL");
    await shared.close();
    await Promise.all(links.map((link) => link.close()));
    server.close();
    other = undefined;
  });

  function dialElsewhere(): { said: (text: string) => void; heard: () => Promise<string> } {
    const child = spawn(process.execPath, ["-e", DIALLER, String(shared.address.port)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    endWithProcess(child);
    other = child;
    const lines = createInterface({ input: child.stdout });
    const heard = async () => String((await once(lines, "line"))[0]);
    return { said: (text) => child.stdin.write(text), heard };
  }

  test("is found by the connection, among those who may be meant", async () => {
    near = connect(portOf(server), HOST);
    await once(near, "connect");
    const port = near.localPort ?? 0;
    expect(diallingProcess(port, portOf(server), [1, process.pid])).toBe(process.pid);
    expect(diallingProcess(port, portOf(server), [1])).toBeUndefined();
    expect(diallingProcess(port, shared.address.port, [process.pid])).toBeUndefined();
  });

  test("takes its own road: one is cut off, the other one is not", async () => {
    links[1]?.cut("forth");
    const child = dialElsewhere();
    child.said("late");
    near = connect(shared.address.port, HOST);
    near.write("early");
    expect(String((await once(near, "data"))[0])).toBe("early");
    const heard = child.heard();
    links[1]?.open("forth", false);
    expect(await heard).toBe("late");
  });

  test("is turned away when it is nobody who may come in", async () => {
    const stranger = dialElsewhere();
    other = undefined;
    expect(await stranger.heard()).toBe("closed");
  });
});
