/**
 * The examples of the documents as a user's project: a directory of its own with one program for
 * each block, in which `holdfast` is the package as it is built here. All of it is compiled at
 * once; then each program runs as a process, and must end by itself.
 *
 * Every line of a program stands where it stands on its page, so that the compiler's messages and
 * stack traces name lines of the page. `holdfast` differs in one thing from the package: what is
 * not told where to connect to connects to the cluster of the test.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { endWithProcess } from "../../lab/end-with-process.js";
import { bareEnvironment, COMMAND } from "../e2e/world/command-line.js";
import { blocksOf, type CodeBlock } from "./document-page.js";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Far more than any example takes; what runs for longer is not going to end. */
const RUN_MS_MAX = 40_000;

const TSCONFIG = {
  compilerOptions: {
    target: "ES2022",
    lib: ["ES2023", "ESNext.Disposable"],
    module: "NodeNext",
    types: ["node"],
    strict: true,
    skipLibCheck: true,
    sourceMap: true,
    outDir: "out",
  },
  include: ["*.ts"],
};

export interface Diagnostic {
  readonly line: number;
  readonly message: string;
}

export interface RunResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The blocks of these files and folders (relative to the root), in the order of their names. */
export function readBlocks(places: readonly string[]): CodeBlock[] {
  return places.flatMap((place) => {
    const pages = place.endsWith(".md")
      ? [place]
      : readdirSync(join(ROOT, place))
          .filter((name) => name.endsWith(".md"))
          .sort()
          .map((name) => `${place}/${name}`);
    return pages.flatMap((page) => blocksOf(page, readFileSync(join(ROOT, page), "utf8")));
  });
}

export class DocumentProject implements AsyncDisposable {
  readonly #directory: string;
  readonly #diagnostics = new Map<string, Diagnostic[]>();

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** Writes and compiles the programs of `blocks`. */
  static async create(blocks: readonly CodeBlock[]): Promise<DocumentProject> {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-documents-"));
    const project = new DocumentProject(directory);
    try {
      await writePackages(directory);
      await writeCommands(directory);
      for (const block of blocks) {
        await writeFile(join(directory, `${nameOf(block)}.ts`), programOf(block));
      }
      await project.#compile();
      return project;
    } catch (error) {
      await project.remove();
      throw error;
    }
  }

  /** What the compiler says of a block. */
  diagnosticsOf(block: CodeBlock): readonly Diagnostic[] {
    return this.#diagnostics.get(nameOf(block)) ?? [];
  }

  /** Runs a block to its end, which must come by itself. */
  run(block: CodeBlock, endpoints: readonly string[]): Promise<RunResult> {
    const env = {
      ...bareEnvironment(),
      PATH: `${join(this.#directory, "bin")}:${process.env["PATH"] ?? ""}`,
      HOLDFAST_ENDPOINTS: endpoints.join(","),
      NO_COLOR: "1",
    };
    const options = { cwd: this.#directory, env };
    if (block.language === "sh") {
      const lines = [...block.given.map(({ text }) => text), ...block.lines];
      return ending(spawn("sh", ["-eu", "-c", lines.join("\n")], options));
    }
    const program = join(this.#directory, "out", `${nameOf(block)}.js`);
    return ending(spawn(process.execPath, ["--enable-source-maps", program], options));
  }

  async remove(): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.remove();
  }

  async #compile(): Promise<void> {
    await writeFile(join(this.#directory, "tsconfig.json"), JSON.stringify(TSCONFIG));
    const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
    const args = [compiler, "-p", this.#directory, "--pretty", "false"];
    let output: string;
    try {
      ({ stdout: output } = await promisify(execFile)(process.execPath, args, {
        cwd: this.#directory,
      }));
    } catch (error) {
      // It ends with a code of its own when it has something to say.
      output = (error as { stdout?: string }).stdout ?? "";
      if (output === "") throw error;
    }
    for (const line of output.split("\n")) this.#note(line);
  }

  #note(line: string): void {
    const [, name, at, message] = /^(\S+)\.ts\((\d+),\d+\): (.*)$/.exec(line) ?? [];
    if (name === undefined || message === undefined) {
      if (line.startsWith("error ")) throw new Error(`the compiler: ${line}`);
      return;
    }
    const all = this.#diagnostics.get(name) ?? [];
    all.push({ line: Number(at), message });
    this.#diagnostics.set(name, all);
  }
}

/** Unique, and readable in a stack trace. */
function nameOf({ page, line }: CodeBlock): string {
  return `${page.replace(/[^\w]/g, "-")}-${line}`;
}

/** A block as a module: its own lines and those it takes as given, each at its place. */
function programOf({ lines, line, given }: CodeBlock): string {
  const program: string[] = [];
  for (const { number, text } of given) program[number - 1] = text;
  for (const [index, text] of lines.entries()) program[line - 1 + index] = text;
  const text = program.join("\n");
  const hasClient = /\b(?:const|let|using) client\b/.test(text);
  // A page begins with its title, so the first line is free.
  program[0] =
    /\bclient\b/.test(text) && !hasClient
      ? `import { connect as connectFirst } from "holdfast"; await using client = await connectFirst({ name: "documents" });`
      : "export {};";
  return Array.from(program, (each) => each ?? "").join("\n");
}

/** `holdfast` as it is built here, and whatever else is installed. */
async function writePackages(directory: string): Promise<void> {
  await writeFile(join(directory, "package.json"), JSON.stringify({ type: "module" }));
  const modules = join(directory, "node_modules");
  await mkdir(join(modules, "holdfast"), { recursive: true });
  for (const name of await readdir(join(ROOT, "node_modules"))) {
    if (!name.startsWith(".") && name !== "holdfast") {
      await symlink(join(ROOT, "node_modules", name), join(modules, name));
    }
  }
  const own = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as {
    exports: Record<string, { types?: string; default: string } | string>;
  };
  const entryPoints: Record<string, { types: string; default: string }> = {};
  for (const [entryPoint, targets] of Object.entries(own.exports)) {
    if (typeof targets === "string") continue;
    const file = entryPoint === "." ? "index" : entryPoint.slice(2);
    entryPoints[entryPoint] = { types: `./${file}.d.ts`, default: `./${file}.js` };
    const target = JSON.stringify(join(ROOT, targets.default));
    const home = join(modules, "holdfast");
    await writeFile(join(home, `${file}.d.ts`), `export * from ${target};\n`);
    await writeFile(
      join(home, `${file}.js`),
      entryPoint === "." ? sdkOf(target) : `export * from ${target};\n`,
    );
  }
  const description = { name: "holdfast", version: "0.0.0", type: "module", exports: entryPoints };
  await writeFile(join(modules, "holdfast/package.json"), JSON.stringify(description));
}

/** The SDK, except that those who do not say where they connect to connect to this cluster. */
function sdkOf(target: string): string {
  const here = ["connect", "connectAdmin", "clusterStatus"].map((name) => {
    return `export const ${name} = (options) => sdk.${name}({ endpoints, ...options });`;
  });
  return [
    `import * as sdk from ${target};`,
    `export * from ${target};`,
    `const endpoints = process.env.HOLDFAST_ENDPOINTS.split(",");`,
    ...here,
  ].join("\n");
}

/** `holdfast` and `npx holdfast` as a shell finds them. */
async function writeCommands(directory: string): Promise<void> {
  const commands = { holdfast: `exec '${process.execPath}' '${COMMAND}' "$@"`, npx: `exec "$@"` };
  await mkdir(join(directory, "bin"));
  for (const [name, line] of Object.entries(commands)) {
    const file = join(directory, "bin", name);
    await writeFile(file, `#!/bin/sh\n${line}\n`);
    await chmod(file, 0o755);
  }
}

async function ending(child: ChildProcess): Promise<RunResult> {
  endWithProcess(child);
  const written = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      written[name] += text;
    });
  }
  child.stdin?.end();
  const timer = setTimeout(() => {
    written.stderr += `\nstill running after ${RUN_MS_MAX} ms`;
    child.kill("SIGKILL");
  }, RUN_MS_MAX);
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(timer);
  return { code, ...written };
}
