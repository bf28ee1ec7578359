/**
 * The script for shells, in every shell that is installed: what it says of wrong usage, and how it acts inside of
 * the command of another one, or of a `holdfast run`, with real nodes.
 */
import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findCommand } from "../../lab/find-command.js";
import { ClusterScene } from "../e2e/world/cluster-scene.js";
import { COMMAND } from "../e2e/world/command-line.js";
import { LANGUAGES } from "./languages.js";

const [shell] = LANGUAGES.filter(({ name }) => name === "shell");
const script = shell?.env?.["HOLDFAST_RECIPE"] ?? "";

const SHELLS = ["dash", "bash", "zsh", "busybox"].map((name) => {
  const words = name === "busybox" ? "busybox sh" : name;
  const missing = findCommand(name) === undefined ? `${name} is not installed` : shell?.missing;
  return { words, missing, title: `${words} [${missing ?? "is tested"}]` };
});

const scene = new ClusterScene();
const other = new ClusterScene({ nodes: 1 });

beforeAll(() => Promise.all([scene.start(), other.start()]).then(() => undefined));
afterAll(() => Promise.all([scene.stop(), other.stop()]).then(() => undefined));

const run = promisify(execFile);

/** Runs a line of a shell, and prints the exit code of its last command. */
async function line(words: string, text: string): Promise<{ stdout: string; stderr: string }> {
  const env = {
    PATH: process.env["PATH"],
    HOLDFAST_ENDPOINTS: scene.endpoints.join(),
    OTHER: other.endpoints.join(),
    HOLDFAST: `${process.execPath} ${COMMAND}`,
    WITH_LOCK: `${words} ${script}`,
  };
  return run("sh", ["-c", `${text}; echo $?`], { env });
}

const held = (key: string) => `${key} is held by the run around this one until its command ends`;
const endless = (key: string) => ({
  stdout: "5\n",
  stderr: `with-lock.sh: ${held(key)}: waiting would never end\n`,
});

describe.each(SHELLS)("with-lock.sh in $title", ({ words, missing }) => {
  /** Runs the script by itself. */
  function withLock(...given: readonly string[]) {
    const [file = "", ...rest] = words.split(" ");
    const { status, stdout, stderr } = spawnSync(file, [...rest, script, ...given], {
      encoding: "utf8",
      env: { PATH: process.env["PATH"], HOLDFAST_ENDPOINTS: scene.endpoints.join() },
    });
    return { status, stdout, stderr };
  }

  describe.skipIf(missing !== undefined)("by itself", () => {
    test.each([{ given: ["--help"] }, { given: ["-h"] }, { given: ["-n", "-h", "a"] }])(
      "explains itself: $given",
      ({ given }) => {
        const { status, stdout, stderr } = withLock(...given);
        expect([status, stderr]).toEqual([0, ""]);
        expect(stdout).toMatch(/^usage: with-lock\.sh \[option\.\.\.\] KEY -- COMMAND/);
      },
    );

    test.each([
      ["there is no option -x", "-x", "a", "--", "true"],
      ["there is no option --wait", "--wait", "a", "--", "true"],
      ["-w needs a value", "-w"],
      ['-w takes a whole number, not "soon"', "-w", "soon", "a", "--", "true"],
      ["-t takes a number of at least 3", "-t", "2", "a", "--", "true"],
      ["the key is missing", "-n"],
      ["after the key, -- and a command are needed", "a"],
      ["after the key, -- and a command are needed", "a", "b", "--", "true"],
      ["after --, a command is needed", "a", "--"],
    ])("refuses wrong usage with 2, even with -q: %s", (sentence, ...given) => {
      const wanted = `with-lock.sh: ${sentence}; with-lock.sh --help explains the usage\n`;
      expect(withLock("-q", ...given)).toEqual({ status: 2, stdout: "", stderr: wanted });
    });

    test("says with 2 what the node has against the request", () => {
      const { status, stderr } = withLock("-n", "-t", "9999999", "a", "--", "true");
      expect([status, stderr]).toEqual([
        2,
        expect.stringMatching(/^with-lock.sh: ttlMs must be between 0 and \d+, not 9999999000\n$/),
      ]);
    });

    test("ends with the code of its command, and with 127 and 126 without one", () => {
      const commands = [
        ["sh", "-c", "exit 7"],
        ["sh", "-c", "kill -9 $$"],
        ["no-such-command"],
        ["/no/such/command"],
        ["/etc/passwd"],
      ];
      const ended = commands.map((command) => withLock("-q", "codes", "--", ...command).status);
      expect(ended).toEqual([7, 137, 127, 127, 126]);
    });

    test("gives its command the lock in the environment, and nothing of the run around it", async () => {
      const show =
        'echo $HOLDFAST_KEY,$HOLDFAST_SLOT,$HOLDFAST_SESSION$HOLDFAST_LEASE_OWNER; echo "$HOLDFAST_HELD"';
      const further = "HOLDFAST_SESSION=3 HOLDFAST_LEASE_OWNER=secret";
      const { stdout, stderr } = await line(
        words,
        `$WITH_LOCK -s o -- env ${further} $WITH_LOCK -p 2 -l 3 p -- sh -c '${show}'`,
      );
      const { clusterId } = scene.client;
      const [first = "", ...lines] = stdout.split("\n");
      expect([first, stderr]).toEqual(["p,0,1,", ""]);
      expect(lines).toEqual([
        expect.stringMatching(`^${clusterId} \\d+ 0 shared o$`),
        expect.stringMatching(`^${clusterId} \\d+ 0 permits p$`),
        "0",
        "",
      ]);
    });
  });

  describe.skipIf(missing !== undefined)("in itself", () => {
    test.each([
      ["", "$WITH_LOCK a -- $WITH_LOCK a -- true"],
      ["with a blank in the key", "$WITH_LOCK 'a b' -- $WITH_LOCK 'a b' -- true"],
      ["with a blank after it", "$WITH_LOCK 'a ' -- $WITH_LOCK 'a ' -- true"],
      ["shared, in an exclusive one", "$WITH_LOCK a -- $WITH_LOCK -s a -- true"],
      ["exclusive, in a shared one", "$WITH_LOCK -s a -- $WITH_LOCK a -- true"],
      ["with another one between", "$WITH_LOCK a -- $WITH_LOCK b -- $WITH_LOCK a -- true"],
      ["with too few permits left", "$WITH_LOCK -p 2 -l 3 a -- $WITH_LOCK -p 2 -l 3 a -- true"],
    ])("is refused the lock around it at once: %s", async (_, text) => {
      expect(await line(words, text)).toEqual(endless(/'(.+?)'/.exec(text)?.[1] ?? "a"));
    });

    test("does not wait either when it should not, and says why", async () => {
      const wanted = { stdout: "3\n", stderr: `with-lock.sh: ${held("a")}\n` };
      expect(await line(words, "$WITH_LOCK a -- $WITH_LOCK -n a -- true")).toEqual(wanted);
    });

    test.each([
      ["a shared lock", "$WITH_LOCK -s a -- $WITH_LOCK -s a -- echo in"],
      ["permits, while enough are left", "$WITH_LOCK -l 2 p -- $WITH_LOCK -l 2 p -- echo in"],
      [
        "the lock of that name in another cluster",
        "$WITH_LOCK a -- env HOLDFAST_ENDPOINTS=$OTHER $WITH_LOCK a -- echo in",
      ],
      ["what has ended", "HOLDFAST_HELD='- 1 1 exclusive a' $WITH_LOCK a -- echo in"],
    ])("gets %s", async (_, text) => {
      expect(await line(words, text)).toEqual({ stdout: "in\n0\n", stderr: "" });
    });

    test("goes by a token only in its cluster, or if that is not known", async () => {
      await using lock = await scene.client.acquire(`${words}/there`);
      const clusters = [other.client.clusterId, scene.client.clusterId, "-"];
      const ended = clusters.map((cluster) => {
        const around = `HOLDFAST_HELD='${cluster} ${lock.token} 0 exclusive ${lock.key}'`;
        return line(words, `${around} $WITH_LOCK -w 1 '${lock.key}' -- true`);
      });
      const codes = (await Promise.all(ended)).map(({ stdout }) => stdout);
      expect(codes).toEqual(["124\n", "5\n", "5\n"]);
    });

    test("refuses a HOLDFAST_HELD that nobody has written", async () => {
      const { stdout, stderr } = await line(words, "HOLDFAST_HELD=yes $WITH_LOCK a -- true");
      const sentence =
        "HOLDFAST_HELD has a line that neither holdfast run nor this script has written";
      const wanted = `with-lock.sh: ${sentence}, so unset it: "yes"\n`;
      expect([stdout, stderr]).toEqual(["2\n", wanted]);
    });
  });
});

describe.skipIf(shell?.missing !== undefined)(`with-lock.sh and holdfast run`, () => {
  test("a script is refused the lock of the run around it", async () => {
    expect(await line("sh", "$HOLDFAST run a -- $WITH_LOCK a -- true")).toEqual(endless("a"));
  });

  test("a run is refused the lock of the script around it", async () => {
    const { stdout, stderr } = await line("sh", "$WITH_LOCK a -- $HOLDFAST run a -- true");
    const wanted = `holdfast: ${held("a")}: waiting would never end (DEADLOCK)\n`;
    expect([stdout, stderr]).toEqual(["5\n", wanted]);
  });

  test.each([
    ["a shared lock together", "$HOLDFAST run -s a -- $WITH_LOCK -s a -- echo in"],
    [
      "locks of one name in two clusters",
      "$HOLDFAST run a -- env HOLDFAST_ENDPOINTS=$OTHER $WITH_LOCK a -- echo in",
    ],
    [
      "locks of one name in two clusters, the other way round",
      "$WITH_LOCK a -- env HOLDFAST_ENDPOINTS=$OTHER $HOLDFAST run a -- echo in",
    ],
  ])("a run and a script have %s", async (_, text) => {
    expect(await line("sh", text)).toEqual({ stdout: "in\n0\n", stderr: "" });
  });
});

test("shellcheck finds nothing in the script", (context) => {
  const program = findCommand("shellcheck");
  if (program === undefined) return context.skip("shellcheck is not installed");
  const { stdout, status } = spawnSync(program, ["-s", "sh", script], { encoding: "utf8" });
  expect([stdout, status]).toEqual(["", 0]);
});
