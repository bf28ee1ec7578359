/**
 * What the Java client does besides the transcripts, with real nodes; the programs of its documents; and its jar, as
 * Maven builds it.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endWithProcess } from "../../lab/end-with-process.js";
import { findCommand } from "../../lab/find-command.js";
import { createAuthority } from "../../src/certificates/index.js";
import { type Client, connect } from "../../src/index.js";
import { type CodeBlock, expectedOutput, isAsExpected } from "../docs/document-page.js";
import { ROOT, readBlocks } from "../docs/document-project.js";
import { type ClusterProcess, startCluster } from "../e2e/world/cluster-process.js";
import { clientOf, NodeCertificates, nodeOf, observerTls } from "../e2e/world/node-certificates.js";
import {
  buildJava,
  compile,
  JAVA_CLIENT,
  javaCommand,
  lackOfJava,
  PROGRAMS,
  run,
} from "./java-client.js";

const missing = lackOfJava();
const missingMaven =
  missing ?? (findCommand("mvn") === undefined ? "mvn is not installed" : undefined);
const VERSION = (
  JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string }
).version;
const POM = readFileSync(join(JAVA_CLIENT, "pom.xml"), "utf8");

const NO_MAVEN = "Maven cannot get what it needs here";
const PLACES = ["clients/java/README.md", "docs/coding/java.md", "docs/reference/http-clients.md"];
const blocks = readBlocks(PLACES).filter(({ language }) => language === "java");

const directory = mkdtempSync(join(tmpdir(), "holdfast-java-tests-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

interface Program {
  /** Every line that it has printed so far. */
  readonly lines: readonly string[];
  /** Resolves when it has printed the line. */
  printed(line: string): Promise<void>;
  answer(): void;
  /** Resolves to all lines; rejects if it fails. */
  readonly ended: Promise<readonly string[]>;
}

function start(words: readonly string[], endpoints: readonly string[]): Program {
  const [file = "", ...rest] = words;
  const env = { PATH: process.env["PATH"], HOLDFAST_ENDPOINTS: endpoints.join() };
  const child = spawn(file, rest, { stdio: "pipe", env });
  endWithProcess(child);
  let errors = "";
  child.stderr.on("data", (piece) => {
    errors += String(piece);
  });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => lines.push(line));
  const ended = once(child, "close").then(([code, signal]) => {
    if (code !== 0) throw new Error(`ended with ${code ?? signal}: ${lines.join("\n")}\n${errors}`);
    return lines;
  });
  const printed = async (line: string): Promise<void> => {
    while (!lines.includes(line)) await Promise.race([once(reader, "line"), ended]);
  };
  return { lines, printed, answer: () => child.stdin.write("\n"), ended };
}

/** A part of `Behaviours.java`. */
function behave(part: readonly string[], endpoints: readonly string[]): Program {
  return start(
    [...javaCommand(buildJava().classPath, "dev.holdfast.Behaviours"), ...part],
    endpoints,
  );
}

describe.skipIf(missing !== undefined)(`the client for Java [${missing ?? "is tested"}]`, () => {
  let cluster: ClusterProcess;
  let client: Client;

  beforeAll(async () => {
    buildJava();
    cluster = await startCluster();
    client = await connect({ endpoints: cluster.endpoints });
  }, 120_000);

  afterAll(async () => {
    await client?.close();
    await cluster?.stop();
  });

  const all = (part: string): Promise<readonly string[]> => behave([part], cluster.endpoints).ended;

  test("reads JSON strictly, and writes what it can read", async () => {
    expect(await behave(["json"], []).ended).toEqual([
      '{"a":[1,-2.5,100.0,true,false,null,"é\\u000a😀"],"b":{}}',
      "[]",
      "9007199254740993",
      "1.2345678901234567E19",
      "0",
      '""',
      '{"\\u0001\\"\\\\":["a",1,true]}',
    ]);
  });

  test("refuses arguments that can never be right", async () => {
    const lines = await behave(["arguments"], []).ended;
    expect(lines.length).toBe(16);
    expect(lines.filter((line) => !line.endsWith(": IllegalArgumentException"))).toEqual([]);
  });

  test("believes no grant that a node would not send, and gives back what it may hide", async () => {
    const lines = await behave(["answers"], []).ended;
    expect(lines.length).toBe(13);
    expect(lines.filter((line) => !line.endsWith(": HoldfastException PROTOCOL"))).toEqual([
      "a large answer: UnavailableException UNAVAILABLE",
      "a right answer: true",
    ]);
  });

  test("sends a proxy of the JVM what TLS hides, and nothing that is for this machine", async () => {
    expect(await behave(["proxies"], []).ended).toEqual([
      "https://0.0.0.0:1: UNAVAILABLE",
      "https://127.0.0.1:2: UNAVAILABLE",
      "https://localhost:3: UNAVAILABLE",
      "http://0.0.0.0:4: UNAVAILABLE",
      "the proxy heard: [CONNECT 0.0.0.0:1 HTTP/1.1]",
    ]);
  });

  test("gives back what it holds when the program ends, if a hook closes it", async () => {
    await behave(["exit"], cluster.endpoints).ended;
    expect(await client.inspect("java/exit")).toMatchObject({ holds: [], waiters: [] });
  });

  test("takes a lock once, and tries without waiting", async () => {
    expect(await all("tries")).toEqual([
      "is held: true",
      "remains: true",
      "name: behaviours",
      "try: false",
      "no wait: LockHeldException LOCK_HELD",
      "short wait: LockTimeoutException LOCK_TIMEOUT",
      "extended: true",
      "extended by nothing: IllegalArgumentException",
      "release: done",
      "release again: done",
      "close: done",
      "check: LockLostException released",
      "extend: LockLostException released",
      "lost: false",
      "in a block: true",
    ]);
  });

  test("takes keys of several kinds as one lock", async () => {
    expect(await all("kinds")).toEqual([
      "slots: [[0, 1]]",
      "mode: shared",
      "mode: exclusive",
      "mode: permits",
      "another reader: done",
      "a writer: false",
      "a permit: [[2]]",
      "two permits: false",
      "another limit: HoldfastException LIMIT_MISMATCH",
      "release: done",
      "kind then: null",
    ]);
  });

  test("leaves the queue when a wait is interrupted, unless the wait cannot be", async () => {
    expect(await all("interrupts")).toEqual([
      "interrupted wait: InterruptedException",
      "waiters: 0",
      "interrupted before: InterruptedException",
      "interrupt is left: false",
      "kind of what was not asked for: null",
      "first, interrupted: true",
      "second, interrupted: false",
      "release: done",
      "interrupt is left: true",
      "holds: 0",
    ]);
  });

  test("has locks of java.util.concurrent that belong to threads", async () => {
    expect(await all("reentrant")).toEqual([
      "try of the same thread: true",
      "count: 3",
      "same token: true",
      "check: done",
      "try of another thread: false",
      "wait of another thread: false",
      "unlock of another thread: IllegalMonitorStateException",
      "count of another thread: 0",
      "try while it is held: false",
      "try then: true",
      "unlock once more: IllegalMonitorStateException",
      "condition: UnsupportedOperationException",
    ]);
  });

  test("shows a loss at each of its doors", async () => {
    const program = behave(["losses"], cluster.endpoints);
    await program.printed("holding");
    await client.revoke({ key: "java/lost" }, { now: true });
    await client.revoke({ key: "java/lost-reentrant" }, { now: true });
    await program.printed("holding again");
    await client.revoke({ key: "java/lost" }, { now: true });
    expect(await program.ended).toEqual([
      "holding",
      "heard: revoked",
      "future: revoked",
      "is held: false",
      "remains: PT0S",
      "release: LockLostException revoked",
      "close: done",
      "lock again: LockLostException revoked",
      "try again: LockLostException revoked",
      "inner unlock: LockLostException revoked",
      "outer unlock: LockLostException revoked",
      "count: 0",
      "holding again",
      "block: LockLostException revoked",
    ]);
  });

  test("gives back what it holds when it is closed, and ends its waits", async () => {
    expect(await all("close")).toEqual([
      "a wait: HoldfastException CANCELLED",
      "reason: closed",
      "release: LockLostException closed",
      "another lock: HoldfastException CANCELLED",
      "look: HoldfastException CANCELLED",
      "close again: done",
      "holds: 0",
      "waiters: 0",
      "a watch whose observer throws: IllegalStateException",
      "a watch that is closed: null",
    ]);
  });

  test("watches keys, and misses nothing when its node is away for a while", async () => {
    const leader = await cluster.leader();
    const program = behave(["watch"], [leader.endpoint]);
    await program.printed("granted java/watch/1 true, ended java/watch/1 true");
    await leader.kill();
    await cluster.leader();
    await using held = await client.acquire("java/watch/meanwhile");
    await held.release();
    await leader.start();
    program.answer();
    expect(await program.ended).toEqual([
      "begun  false",
      "granted java/watch/1 true, ended java/watch/1 true",
      "granted java/watch/meanwhile true, ended java/watch/meanwhile true",
    ]);
  });

  describe("the programs of its documents", () => {
    const programs = blocks.filter(({ words }) => !words.includes("spring"));
    const titled = programs.map((block) => [`${block.page}:${block.line}`, block] as const);

    beforeAll(() => {
      const { jar } = buildJava();
      const files = programs.map((block) => {
        const file = join(directory, `${nameOf(block)}.java`);
        writeFileSync(file, programOf(block));
        return file;
      });
      compile(jar, join(directory, "documents"), files);
    }, 120_000);

    test.each(titled)("%s is what the compiler takes, and ends well", async (title, block) => {
      if (block.words.includes("no-run")) return;
      const { jar } = buildJava();
      const words = javaCommand(`${jar}:${join(directory, "documents")}`, nameOf(block));
      const printed = await start(words, cluster.endpoints).ended;
      const expected = expectedOutput(block);
      const isRight = expected.every((text, at) => isAsExpected(printed[at] ?? "", text));
      const isAll = printed.length === expected.length && isRight;
      expect(isAll ? expected : printed, `${title} printed`).toEqual(expected);
    });

    test("name its version, which is the server's", () => {
      expect(POM).toContain(`<version>${VERSION}</version>`);
      for (const page of ["clients/java/README.md", "docs/coding/java.md"]) {
        const named = readFileSync(join(ROOT, page), "utf8").match(/<version>.*<\/version>/g);
        expect(named).toEqual([`<version>${VERSION}</version>`]);
      }
    });
  });

  test("speaks TLS with files of PEM, to nodes that require client certificates", async () => {
    const authority = createAuthority({ name: "authority of the test", days: 30 });
    const own = clientOf(authority);
    const files = new NodeCertificates();
    files.write(1, nodeOf(authority, 1), authority.certificatePem);
    files.write(0, own, authority.certificatePem);
    const tls = observerTls(own, authority.certificatePem);
    await using secured = await startCluster({
      nodes: 1,
      serverArguments: files.argumentsOf(1),
      tls,
    });
    const program = behave(["tls", join(files.directory, "0")], secured.endpoints);
    expect(await program.ended).toEqual([
      "with a certificate: done",
      "without one: UnavailableException UNAVAILABLE",
      "without trust: UnavailableException UNAVAILABLE",
      "a file without certificates: IllegalArgumentException",
      "a file without a key: IllegalArgumentException",
    ]);
    files.remove();
  });

  test("is a module for Java 11 that needs java.net.http and nothing else", () => {
    const { jar } = buildJava();
    const described = run("jar", ["--describe-module", "--file", jar]);
    expect(described.trim().split("\n").slice(1)).toEqual([
      "exports dev.holdfast",
      "requires java.base mandated",
      "requires java.net.http",
    ]);
  });
});

describe.skipIf(missingMaven !== undefined)(`Maven [${missingMaven ?? "is tested"}]`, () => {
  test("builds one jar of the client", async (context) => {
    const target = join(directory, "target");
    if (!(await maven(JAVA_CLIENT, target, ["package"]))) return context.skip(NO_MAVEN);
    const jars = readdirSync(target).filter((name) => name.endsWith(".jar"));
    expect(jars).toEqual([`holdfast-client-${VERSION}.jar`]);
    const classes = (file: string): string[] => {
      const listed = run("jar", ["--list", "--file", file]);
      return listed.split("\n").filter((name) => /(?<!package-info)\.class$/.test(name));
    };
    const own = join(target, `${jars[0]}`);
    expect(classes(own).sort()).toEqual(classes(buildJava().jar).sort());
  }, 300_000);

  test("gets Spring, whose context makes a client, and closes it", async (context) => {
    const { jar } = buildJava();
    const target = join(directory, "spring");
    const goals = ["dependency:copy-dependencies", `-DoutputDirectory=${target}`];
    if (!(await maven(join(PROGRAMS, "spring"), target, goals))) return context.skip(NO_MAVEN);
    const block = blocks.find(({ words }) => words.includes("spring"));
    const file = join(directory, "Jobs.java");
    writeFileSync(file, block?.lines.join("\n") ?? "");
    const classPath = `${jar}:${target}/*`;
    compile(classPath, target, [file, join(PROGRAMS, "spring", "SpringContext.java")]);
    await using cluster = await startCluster({ nodes: 1 });
    const words = javaCommand(`${target}:${classPath}`, "SpringContext");
    expect(await start(words, cluster.endpoints).ended).toEqual([
      "sent under a token: true",
      "lost when the context is closed: closed",
    ]);
  }, 300_000);
});

/** Returns false if Maven cannot get what it needs; throws if it fails otherwise. */
async function maven(project: string, target: string, goals: readonly string[]): Promise<boolean> {
  try {
    const file = join(project, "pom.xml");
    await promisify(execFile)("mvn", ["-q", "-B", "-f", file, `-Dtarget=${target}`, ...goals]);
    return true;
  } catch (error) {
    const { stdout } = error as { stdout: string };
    if (!/Could not transfer|Unknown host|Connection refused/.test(stdout)) throw error;
    console.warn(`NOT TESTED: ${NO_MAVEN}\n${stdout}`);
    return false;
  }
}

function nameOf({ page, line }: CodeBlock): string {
  return `${page.replace(/\W/g, "_")}_${line}`;
}

/**
 * A block as a program. What it declares, and what it takes as given, are members of its class; else it is the body of
 * `main`. Each line stands where it stands on its page, so that messages name lines of the page.
 */
function programOf(block: CodeBlock): string {
  const { line, lines, given } = block;
  const imports = ["dev.holdfast.*", "java.time.Duration", "java.util.*", "java.util.concurrent.*"];
  const program: string[] = [];
  for (const { number, text } of given) program[number - 1] = text;
  const isMember = lines.some((text) => /^(?:@|class |public |static |interface )/.test(text));
  for (const [index, text] of lines.entries()) {
    const imported = /^import (.*);$/.exec(text)?.[1];
    if (imported !== undefined) imports.push(imported);
    program[line - 1 + index] = imported === undefined ? text : "";
  }
  const head = imports.map((name) => `import ${name};`).join(" ");
  program[0] = `${head} public final class ${nameOf(block)} {`;
  if (!isMember)
    program[line - 2] = "public static void main(String[] arguments) throws Exception {";
  program[line - 1 + lines.length] = isMember ? "}" : "}}";
  return Array.from(program, (each) => each ?? "").join("\n");
}
