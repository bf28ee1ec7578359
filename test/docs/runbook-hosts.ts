/**
 * The machines of a runbook, as directories and processes of this one: three nodes, `node1.example` to
 * `node3.example`, one for programs, `app.example`, and the workplace of the operator. `ssh`, `scp` and
 * `sudo systemctl` do there what a page says of those machines. Absolute paths lead into the
 * directory of the machine, and the ports 7411, 7511 and 7412 of a node are free ports of the loopback
 * interface. It judges nothing.
 */
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { dirname, join } from "node:path";
import { freePorts } from "../../lab/free-ports.js";
import { ServerProcess } from "../../lab/server-process.js";
import { COMMAND } from "../e2e/world/command-line.js";
import { until } from "../e2e/world/process-life.js";

const NODES = [1, 2, 3];
const PROGRAMS = "app.example";
/** For clients, for nodes, and for health checks. */
const PORTS = ["7411", "7511", "7412"];
const STOP_MS_MAX = 10_000;
const NODE_FILE = "/etc/holdfast/node.json";
const PATH = /\/(?:etc|var\/lib)\/[a-z]+/g;
/** Asks this process to do `systemctl ACTION SERVICE` on a machine. */
const SYSTEMCTL = `
import { connect } from "node:net";
const [socket, ...words] = process.argv.slice(2);
let answer = "";
connect(socket)
  .on("data", (data) => { answer += data; })
  .on("end", () => {
    process.stderr.write(answer);
    process.exitCode = answer === "" ? 0 : 1;
  })
  .write(JSON.stringify(words));
`;

/** What systemctl does to a program that is not a node. */
export interface Service {
  restart(): Promise<void>;
}

export class RunbookHosts implements AsyncDisposable {
  /** Where the operator works. */
  readonly workplace: string;
  readonly #directory: string;
  readonly #ports: readonly number[];
  readonly #nodes: readonly ServerProcess[];
  readonly #services: ReadonlyMap<string, Service>;
  readonly #door: Server;

  private constructor(
    directory: string,
    ports: readonly number[],
    services: ReadonlyMap<string, Service>,
  ) {
    this.#directory = directory;
    this.#ports = ports;
    this.#services = services;
    this.workplace = join(directory, "operator");
    mkdirSync(this.workplace);
    for (const service of services.keys()) this.#makeDirectory(PROGRAMS, `/etc/${service}`);
    this.#nodes = NODES.map((id) => {
      const host = hostOf(id);
      this.#makeDirectory(host, "/etc/holdfast");
      const file = this.pathOn(host, NODE_FILE);
      const command = [process.execPath, COMMAND, "server", "--stop-on-stdin-end"];
      const journal = join(directory, host, "journal");
      return new ServerProcess(
        { name: `node ${id}`, command: [...command, "--config", file] },
        { onLine: (line) => appendFileSync(journal, `${line}\n`) },
      );
    });
    this.#door = createServer((socket) => {
      socket.once("data", (words) => {
        this.#systemctl(JSON.parse(words.toString()) as string[])
          .then(() => socket.end())
          .catch((error: Error) => socket.end(`${error.message}\n`));
      });
    });
  }

  static async create(
    directory: string,
    services: ReadonlyMap<string, Service>,
  ): Promise<RunbookHosts> {
    const ports = await freePorts(PORTS.length * NODES.length);
    const hosts = new RunbookHosts(directory, ports, services);
    await hosts.#writeCommands();
    return hosts;
  }

  /** Where the operator finds `ssh`, `scp` and `holdfast`. */
  get path(): string {
    return `${join(this.#directory, "operator-bin")}:${process.env["PATH"] ?? ""}`;
  }

  /** The endpoints of the nodes for clients, without the scheme, and those for nodes. */
  addresses(port: "7411" | "7511"): string[] {
    return NODES.map((id) => this.#address(id, port));
  }

  /** Commands of the page with the addresses of this machine. */
  translated(script: string): string {
    return script
      .replace(/node(\d)\.example:(7\d11)/g, (_, id, port) => this.#address(Number(id), port))
      .replace(/--host node\S+\.example/g, "--host 127.0.0.1");
  }

  /**
   * Sets the keys of a file of JSON on the machines that have it. The page shows the file of node
   * 1; the others have their own numbers.
   */
  configure(path: string, json: string): void {
    if (path !== NODE_FILE) {
      this.#configure(PROGRAMS, path, json);
      return;
    }
    for (const id of NODES) {
      const own = json
        .replace(`"id": 1`, `"id": ${id}`)
        .replaceAll("/node-1.", `/node-${id}.`)
        .replace('"listen": "node1', `"listen": "node${id}`)
        .replace("127.0.0.1:7412", this.#address(id, "7412"));
      this.#configure(hostOf(id), path, own);
    }
  }

  /** Where the file of a machine is here. */
  pathOn(host: string, path: string): string {
    return join(this.#directory, host, path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#door.close();
    await Promise.all(this.#nodes.map((node) => node.stop(STOP_MS_MAX)));
  }

  #address(id: number, port: string): string {
    return `127.0.0.1:${this.#ports[PORTS.indexOf(port) * NODES.length + id - 1]}`;
  }

  #journalOf(host: string): string {
    return readFileSync(this.pathOn(host, "journal"), "utf8");
  }

  #makeDirectory(host: string, path: string): void {
    mkdirSync(this.pathOn(host, path), { recursive: true });
  }

  #configure(host: string, path: string, json: string): void {
    const file = this.pathOn(host, path);
    const former = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as object) : {};
    const here = this.translated(json).replace(PATH, (each) => this.pathOn(host, each));
    writeFileSync(file, JSON.stringify({ ...former, ...(JSON.parse(here) as object) }));
  }

  async #writeCommands(): Promise<void> {
    const socket = join(this.#directory, "door.sock");
    const systemctl = join(this.#directory, "systemctl.mjs");
    writeFileSync(systemctl, SYSTEMCTL);
    await new Promise<void>((resolve) => this.#door.listen(socket, resolve));
    const holdfast = `exec '${process.execPath}' '${COMMAND}' "$@"`;
    this.#writeCommand("operator-bin/holdfast", holdfast);
    // HOST:PATH becomes the path here.
    this.#writeCommand("operator-bin/scp", [
      "from=; last=",
      'for name; do from="$from $last"; last=$name; done',
      `cp $from "$(printf '%s' "$last" | sed 's#^#${this.#directory}/#; s#:##')"`,
    ]);
    // A shell of the other machine, whose environment has nothing of the operator's.
    this.#writeCommand("operator-bin/ssh", [
      `host=$1; shift; root='${this.#directory}'/$host`,
      'paths="s#/etc/#$root&#g; s#/var/lib/#$root&#g"',
      'script=$(printf \'%s\' "$*" | sed "$paths; s#127.0.0.1:7412#$(cat "$root/health")#")',
      'exec env -i PATH="$root/bin:$PATH" NO_COLOR=1 sh -euc "$script"',
    ]);
    for (const host of [...NODES.map(hostOf), PROGRAMS]) {
      const ask = `exec '${process.execPath}' '${systemctl}' '${socket}' ${host} "$@"`;
      this.#writeCommand(`${host}/bin/systemctl`, ask);
      this.#writeCommand(`${host}/bin/sudo`, 'exec "$@"');
      // journalctl -u holdfast -g WORDS -n LINES
      const journal = this.pathOn(host, "journal");
      this.#writeCommand(`${host}/bin/journalctl`, `grep "$4" '${journal}' | tail -n "$6"`);
      writeFileSync(this.pathOn(host, "health"), "");
    }
    for (const id of NODES) {
      writeFileSync(this.pathOn(hostOf(id), "health"), this.#address(id, "7412"));
    }
  }

  #writeCommand(name: string, lines: string | readonly string[]): void {
    const file = join(this.#directory, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `#!/bin/sh -eu\n${[lines].flat().join("\n")}\n`);
    chmodSync(file, 0o755);
  }

  async #systemctl([host = "", action = "", ...names]: readonly string[]): Promise<void> {
    for (const name of names) {
      if (host === PROGRAMS && action === "restart") await this.#restart(name);
      else await this.#control(host, action, name);
    }
  }

  async #restart(name: string): Promise<void> {
    const program = this.#services.get(name);
    if (program === undefined) throw new Error(`there is no ${name}`);
    await program.restart();
  }

  async #control(host: string, action: string, name: string): Promise<void> {
    const node = this.#nodes[NODES.findIndex((id) => hostOf(id) === host)];
    if (node === undefined || name !== "holdfast") throw new Error(`no ${name} on ${host}`);
    if (action === "reload") {
      const reloads = (): number => this.#journalOf(host).split(" TLS files ").length;
      const before = reloads();
      process.kill(node.pid as number, "SIGHUP");
      await until(`${host} to reload`, () => reloads() > before);
      return;
    }
    if (action !== "start" && action !== "restart" && action !== "stop") {
      throw new Error(`systemctl cannot ${action}`);
    }
    if (action === "start" && node.isRunning) return;
    await node.stop(STOP_MS_MAX);
    if (action === "stop") return;
    node.start();
    // What is asked of its journal then is there.
    const patience = { msMax: STOP_MS_MAX, intervalMs: 20 };
    await node.answers(async () => node.lastWords !== "", patience).catch(() => undefined);
  }
}

function hostOf(id: number): string {
  return `node${id}.example`;
}
