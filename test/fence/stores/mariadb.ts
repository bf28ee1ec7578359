/**
 * A MariaDB of the test's own, if it is installed, and sessions in it through its own client
 * program: no driver is needed for so little. Statements are prepared by the server and take their
 * values as parameters, and changed rows are counted as the server does by itself, without
 * FOUND_ROWS.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { endWithProcess } from "../../../lab/end-with-process.js";
import { freePorts } from "../../../lab/free-ports.js";
import {
  installed,
  launch,
  type StartedServer,
  serverDirectory,
  unprivileged,
} from "./installed.js";

export interface MariadbServer extends StartedServer {
  /** A connection with the database `test`. */
  session(): MariadbSession;
}

export async function startMariadb(): Promise<MariadbServer | undefined> {
  const program = installed("MariaDB", "mariadbd");
  const client = program === undefined ? undefined : installed("the client of MariaDB", "mariadb");
  if (program === undefined || client === undefined) return undefined;
  const user = unprivileged("nobody");
  const directory = serverDirectory("mariadb", user);
  const [port = 0] = await freePorts(1);
  const listen = ["--bind-address=127.0.0.1", `--port=${port}`];
  const socket = `--socket=${join(directory, "mariadb.sock")}`;
  const server = await launch({
    program,
    // Without the tables of users, which nobody needs here.
    args: ["--no-defaults", `--datadir=${directory}`, socket, ...listen, "--skip-grant-tables"],
    ready: "ready for connections",
    directory,
    port,
    user,
  });
  return {
    port,
    session: () => new MariadbSession(client, port),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** One statement at a time. */
export class MariadbSession {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<never>;
  #count = 0;

  constructor(client: string, port: number) {
    const address = ["--protocol=tcp", "--host=127.0.0.1", `--port=${port}`];
    const output = [
      "--default-character-set=utf8mb4",
      "--batch",
      "--raw",
      "--unbuffered",
      "--skip-column-names",
    ];
    this.#child = spawn(client, ["--no-defaults", ...address, ...output], {
      cwd: dirname(client),
      stdio: ["pipe", "pipe", "pipe"],
    });
    endWithProcess(this.#child);
    let complaint = "";
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      complaint += chunk.toString();
    });
    this.#ended = new Promise((_, reject) => {
      this.#child.once("close", () => reject(new Error(`the client ended: ${complaint}`)));
    });
    this.#ended.catch(() => undefined);
    const { stdout } = this.#child;
    if (stdout === null) throw new Error("its output is a pipe");
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
    this.#child.stdin?.write(
      "create database if not exists test character set utf8mb4; use test;\n",
    );
  }

  /** The rows of a text without parameters, columns separated by tabs. */
  async query(text: string): Promise<string[]> {
    this.#count += 1;
    const end = `end of ${this.#count}`;
    this.#child.stdin?.write(`${text.replaceAll("\n", " ")};\nselect '${end}';\n`);
    const rows: string[] = [];
    for (;;) {
      const { value, done } = await Promise.race([this.#lines.next(), this.#ended]);
      if (done === true) return this.#ended;
      if (value === end) return rows;
      rows.push(value);
    }
  }

  /** Resolves to the number of rows that were changed. */
  readonly run = async (text: string, values: unknown[]): Promise<number> => {
    const names = values.map((_, index) => `@p${index}`);
    const assigned = values.map((value, index) => `set ${names[index]} = ${literal(value)};`);
    const using = names.length === 0 ? "" : ` using ${names.join(", ")}`;
    const prepare = `prepare s from ${literal(text)};`;
    const [changed] = await this.query(
      `${assigned.join(" ")} ${prepare} execute s${using}; select row_count()`,
    );
    return Number(changed);
  };

  close(): void {
    this.#child.stdin?.end();
  }
}

function literal(value: unknown): string {
  if (value === null || typeof value === "number") return String(value);
  return `convert(X'${Buffer.from(String(value)).toString("hex")}' using utf8mb4)`;
}
