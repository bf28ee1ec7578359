/**
 * What the client for Python is besides a player of transcripts: a wheel, types, pages whose examples run, and tasks
 * of asyncio that wait by the hundred and can be cancelled.
 */
import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endWithProcess } from "../../lab/end-with-process.js";
import { findCommand } from "../../lab/find-command.js";
import { type Client, connect } from "../../src/index.js";
import { type CodeBlock, expectedOutput, isAsExpected } from "../docs/document-page.js";
import { readBlocks } from "../docs/document-project.js";
import { type ClusterProcess, startCluster } from "../e2e/world/cluster-process.js";
import { until } from "../e2e/world/process-life.js";
import { PYTHON } from "./languages.js";
import { CLIENTS } from "./transcript.js";

const SOURCE = `${CLIENTS}python`;
const missing = PYTHON === undefined ? "python3 is not installed" : undefined;
const isBuilder = !missing && python(["-c", "import setuptools, wheel, pip"]).status === 0;
const noBuilder = isBuilder ? undefined : "pip, setuptools or wheel is not installed";
const mypy = findCommand("mypy");
/** The oldest that the package promises, as pyenv or the system has it. */
const oldest = [...pyenvVersions("3.8."), findCommand("python3.8") ?? ""].find((path) => {
  return path !== "" && spawnSync(path, ["-c", ""]).status === 0;
});

function pyenvVersions(start: string): string[] {
  const parent = join(process.env["PYENV_ROOT"] ?? join(homedir(), ".pyenv"), "versions");
  const names = existsSync(parent) ? readdirSync(parent) : [];
  return names
    .filter((name) => name.startsWith(start))
    .map((name) => join(parent, name, "bin/python"));
}

function python(words: readonly string[], cwd = tmpdir()) {
  return spawnSync(PYTHON ?? "", words, { cwd, encoding: "utf8", env: environment({}) });
}

function environment(more: Readonly<Record<string, string>>): Record<string, string> {
  const { PATH = "", HOME = "/" } = process.env;
  return { PATH, HOME, PYTHONDONTWRITEBYTECODE: "1", ...more };
}

interface Program {
  /** The lines that it has printed. */
  readonly lines: string[];
  kill(signal: NodeJS.Signals): void;
  /** Resolves with its lines when it has ended; rejects, with what it said, unless with this exit code. */
  ended(code?: number): Promise<string[]>;
}

describe.skipIf(missing !== undefined)(`the client for Python [${missing ?? "is tested"}]`, () => {
  let cluster: ClusterProcess;
  let client: Client;

  beforeAll(async () => {
    cluster = await startCluster();
    client = await connect({ endpoints: cluster.endpoints });
  });

  afterAll(async () => {
    await client?.close();
    await cluster?.stop();
  });

  function start(text: string, interpreter = PYTHON ?? ""): Program {
    const env = environment({
      PYTHONPATH: SOURCE,
      PYTHONUNBUFFERED: "1",
      HOLDFAST_ENDPOINTS: cluster.endpoints.join(),
    });
    const child = spawn(interpreter, ["-W", "error", "-c", text], { env, cwd: tmpdir() });
    endWithProcess(child);
    const lines: string[] = [];
    let [out, errors] = ["", ""];
    child.stdout.on("data", (piece) => {
      out += String(piece);
      lines.splice(0, lines.length, ...out.split("\n").slice(0, -1));
    });
    child.stderr.on("data", (piece) => (errors += String(piece)));
    const end = new Promise<string | number>((resolve) => {
      child.once("close", (code, signal) => resolve(code ?? String(signal)));
    });
    return {
      lines,
      kill: (signal) => child.kill(signal),
      ended: async (code = 0) => {
        expect(await end, `${out}${errors}`).toBe(code);
        return lines;
      },
    };
  }

  test("the rules of HTTP read an answer in whatever pieces it arrives", async () => {
    const program = start(`
from holdfast._http import Answer, BrokenAnswer, Events
body = b"id: 5.1\\r\\nevent: granted\\ndata: {\\ndata: }\\n\\n: alive\\nid: 6.0\\n\\n"
def chunked(size):
    parts = [body[at:at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x;x=y\\r\\n%s\\r\\n" % (len(part), part) for part in parts) + b"0\\r\\nTrailer: 1\\r\\n\\r\\n"
early = b"HTTP/1.1 103 Early Hints\\r\\nLink: x\\r\\n\\r\\n"
heads = [
    (b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body), body, False),
    (early + b"HTTP/1.1 200\\r\\nX: 1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n", chunked(7), False),
    (b"HTTP/1.0 200 OK\\r\\nServer: old\\r\\n\\r\\n", body, True),
]
for head, rest, ends_open in heads:
    data = head + rest
    for size in range(1, len(data) + 1):
        answer, events, got, seen = Answer(), Events(""), b"", []
        for at in range(0, len(data), size):
            part = answer.feed(data[at:at + size])
            got, seen = got + part, seen + events.feed(part)
        assert answer.is_whole is not ends_open, (head, size)
        if ends_open:
            answer.feed(b"")
        assert (answer.status, answer.is_whole, got) == (200, True, body), (head, size, got)
        assert seen == [("granted", "5.1", "{\\n}")] and events.last_id == "6.0", seen
    for cut in range(len(data) if not ends_open else len(head) - 1):
        answer = Answer()
        if cut:
            answer.feed(data[:cut])
        try:
            answer.feed(b"")
        except BrokenAnswer:
            continue
        raise AssertionError((head, cut))
for wrong in [b"220 smtp\\r\\n\\r\\n", b"HTTP/1.1 200 OK\\r\\nContent-Length: -1\\r\\n\\r\\n",
              b"HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\nnot a number\\r\\n",
              b"HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n1\\r\\nabc\\r\\n", b"HTTP/1.1 200 OK\\r\\n" + b"x" * 70_000]:
    try:
        Answer().feed(wrong)
    except BrokenAnswer:
        continue
    raise AssertionError(wrong[:80])
print("read")
`);
    expect(await program.ended()).toEqual(["read"]);
  });

  test.skipIf(noBuilder !== undefined)(
    `it is a wheel with its types and nothing that it depends on [${noBuilder ?? "is built"}]`,
    () => {
      const directory = mkdtempSync(join(tmpdir(), "holdfast-wheel-"));
      try {
        cpSync(SOURCE, join(directory, "source"), { recursive: true });
        const offline = ["--no-index", "--no-deps", "--disable-pip-version-check", "-q"];
        const pip = (...words: string[]): void => {
          const { status, stdout, stderr } = python(["-m", "pip", ...words], directory);
          expect(status, `${stdout}${stderr}`).toBe(0);
        };
        pip("wheel", ...offline, "--no-build-isolation", "-w", ".", "./source");
        const { version } = JSON.parse(readFileSync(`${CLIENTS}../package.json`, "utf8")) as {
          version: string;
        };
        const wheel = `holdfast_client-${version}-py3-none-any.whl`;
        pip("install", ...offline, "--target", "installed", wheel);
        const program = `
import importlib.metadata, json, os, zipfile
import holdfast, holdfast.aio
data = importlib.metadata.metadata("holdfast-client")
print(json.dumps({
    "files": sorted(name for name in zipfile.ZipFile(${JSON.stringify(wheel)}).namelist() if name.startswith("holdfast/")),
    "version": [data["Version"], holdfast.__version__],
    "python": data["Requires-Python"],
    "needs": data.get_all("Requires-Dist") or [],
    "isTyped": os.path.exists(os.path.join(os.path.dirname(holdfast.__file__), "py.typed")),
    "isInstalled": "installed" in holdfast.__file__,
}))`;
        const { stdout, stderr } = spawnSync(PYTHON ?? "", ["-c", program], {
          cwd: directory,
          encoding: "utf8",
          env: environment({ PYTHONPATH: join(directory, "installed") }),
        });
        const modules = ["__init__.py", "_core.py", "_http.py", "aio.py", "errors.py", "py.typed"];
        expect(JSON.parse(stdout || JSON.stringify(stderr))).toEqual({
          files: modules.map((name) => `holdfast/${name}`),
          version: [version, version],
          python: ">=3.8",
          needs: [],
          isTyped: true,
          isInstalled: true,
        });
      } finally {
        rmSync(directory, { recursive: true, force: true });
      }
    },
  );

  test.skipIf(mypy === undefined)(
    `its types hold together [${mypy === undefined ? "mypy is not installed" : "is checked"}]`,
    () => {
      const words = ["--strict", "--cache-dir", "/dev/null", "-p", "holdfast"];
      const { stdout, status } = spawnSync(mypy ?? "", words, { cwd: SOURCE, encoding: "utf8" });
      expect(status, stdout).toBe(0);
    },
  );

  const blocks = readBlocks(["clients/python/README.md", "docs/coding/python.md"]).filter(
    ({ language }) => language === "python",
  );

  const titled = blocks.map((block) => [`${block.page}:${block.line}`, block] as const);

  async function expectRuns(block: CodeBlock, interpreter?: string): Promise<void> {
    const lines = [...block.given.map(({ text }) => text), ...block.lines];
    const printed = await start(lines.join("\n"), interpreter).ended();
    const expected = expectedOutput(block);
    const isExpected = expected.map((text, at) => isAsExpected(printed[at] ?? "", text));
    const isAll = printed.length === expected.length && !isExpected.includes(false);
    expect(isAll ? expected : printed).toEqual(expected);
  }

  test.each(titled)("the example at %s runs", (_, block) => expectRuns(block));

  describe.skipIf(oldest === undefined)(
    `with Python 3.8 [${oldest === undefined ? "which is not installed" : "is tested"}]`,
    () => {
      test.each(titled)("the example at %s runs", (_, block) => expectRuns(block, oldest));
    },
  );

  test("two hundred tasks wait for one lock at once, and each has its turn alone", async () => {
    const program = start(`
import asyncio
from holdfast import aio

inside = most = count = 0

async def work(client):
    global inside, most, count
    async with client.lock("crowd", wait=100):
        inside += 1
        most, count = max(most, inside), count + 1
        await asyncio.sleep(0)
        inside -= 1

async def main():
    client = aio.Client()
    async with client.lock("crowd"):
        tasks = [asyncio.ensure_future(work(client)) for _ in range(200)]
        while len((await client.look("crowd"))["waiters"]) < 200:
            await asyncio.sleep(0.05)
        print("all wait")
    await asyncio.gather(*tasks)
    print(most, count)

asyncio.run(main())
`);
    expect(await program.ended()).toEqual(["all wait", "1 200"]);
  });

  test("a task that is cancelled leaves the queue before it ends", async () => {
    await using held = await client.acquire("cancelled");
    const program = start(`
import asyncio
from holdfast import aio

async def wait(client):
    async with client.lock("cancelled"):
        raise AssertionError("it is held")

async def main():
    client = aio.Client()
    tasks = [asyncio.ensure_future(wait(client)) for _ in range(20)]
    while len((await client.look("cancelled"))["waiters"]) < 20:
        await asyncio.sleep(0.05)
    for task in tasks:
        task.cancel()
    print({type(end).__name__ for end in await asyncio.gather(*tasks, return_exceptions=True)})
    print(len((await client.look("cancelled"))["waiters"]))
    try:
        await asyncio.wait_for(wait(client), 0.2)
    except asyncio.TimeoutError:
        print("timeout", len((await client.look("cancelled"))["waiters"]))

asyncio.run(main())
`);
    expect(await program.ended()).toEqual(["{'CancelledError'}", "0", "timeout 0"]);
    expect(held.isHeld).toBe(true);
  });

  test("a task is cancelled by choice when its lock is lost, and learns why", async () => {
    const program = start(`
import asyncio
from holdfast import aio

async def main():
    try:
        async with aio.Client().lock("chosen", ttl=1, cancel_on_lost=True) as lock:
            print("holds")
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                print("cancelled", lock.is_held, lock.lost.is_set())
                raise
    except aio.LockLost as loss:
        print(loss.details["reason"], getattr(asyncio.current_task(), "cancelling", int)())
    async with aio.Client().lock("chosen", cancel_on_lost=True):
        await asyncio.sleep(0)
    print("goes on")

    async def stay():
        async with aio.Client().lock("chosen", cancel_on_lost=True):
            await asyncio.sleep(60)

    task = asyncio.ensure_future(stay())
    while not (await aio.Client().look("chosen"))["holds"]:
        await asyncio.sleep(0.02)
    task.cancel()
    await asyncio.wait({task})
    print(task.cancelled(), (await aio.Client().look("chosen"))["holds"])

asyncio.run(main())
`);
    await until("it holds the lock", async () => program.lines.includes("holds"));
    await client.revoke({ key: "chosen" }, { now: true });
    expect(await program.ended()).toEqual([
      "holds",
      "cancelled False True",
      "revoked 0",
      "goes on",
      "True []",
    ]);
  });

  test("a signal handler that raises ends a wait, and leaves the queue", async () => {
    await using held = await client.acquire("signalled");
    const program = start(`
import signal, sys
import holdfast

signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
with holdfast.Client().lock("signalled"):
    raise AssertionError("it is held")
`);
    const waiters = async () => (await client.inspect(held.key)).waiters.length;
    await until("it waits", async () => (await waiters()) === 1);
    program.kill("SIGTERM");
    await program.ended(7);
    expect(await waiters()).toBe(0);
  });

  test("when a leader is killed, the next candidate leads", async () => {
    const candidate = `
import holdfast

def lead(term):
    print("leads", flush=True)
    term.lost.wait()

holdfast.Client().elect("throne", lead, ttl=2)
`;
    const first = start(candidate);
    await until("the first leads", async () => first.lines.includes("leads"));
    const second = start(candidate);
    await until("it waits", async () => (await client.inspect("throne")).waiters.length === 1);
    first.kill("SIGKILL");
    await until("the second leads", async () => second.lines.includes("leads"));
    await client.revoke({ key: "throne" }, { now: true });
    await until("it leads again", async () => second.lines.length === 2);
    second.kill("SIGKILL");
  });

  test("a thread that waits for changes is woken by a close", async () => {
    const program = start(`
import threading
import holdfast

changes = holdfast.Client().watch("nothing/")
print(next(changes).type)
threading.Timer(0.2, changes.close).start()
print(list(changes))
`);
    expect(await program.ended()).toEqual(["begun", "[]"]);
  });
});
