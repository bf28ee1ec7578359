/** A script that runs inside of the command of another one, or of a `holdfast run`, with real nodes. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ClusterScene } from "../e2e/world/cluster-scene.js";
import { COMMAND } from "../e2e/world/command-line.js";
import { LANGUAGES } from "./languages.js";

const [shell] = LANGUAGES.filter(({ name }) => name === "shell");
const missing = shell?.missing;
const scene = new ClusterScene();
const env = {
  HOLDFAST: `${process.execPath} ${COMMAND}`,
  WITH_LOCK: `sh ${shell?.env?.["HOLDFAST_RECIPE"]}`,
};

/** Runs a line of a shell under the lock "outer", and prints the exit code of its last command. */
async function under(outer: string, line: string) {
  const { stdout, stderr } = await scene.holdfast(["run", outer, "-c", `${line}; echo $?`], {
    env,
  });
  return { stdout, stderr };
}

describe.skipIf(missing !== undefined)(`with-lock.sh [${missing ?? "is tested"}]`, () => {
  beforeAll(() => scene.start());
  afterAll(() => scene.stop());

  const held = (key: string) => `${key} is held by the run around this one until its command ends`;

  test.each([
    ["in a run", "a", "$WITH_LOCK a -- true"],
    ["in itself", "x", "$WITH_LOCK a -- $WITH_LOCK a -- true"],
    ["in itself, with a blank in the key", "x", "$WITH_LOCK 'a b' -- $WITH_LOCK 'a b' -- true"],
    ["in itself, with a blank after it", "x", "$WITH_LOCK 'a ' -- $WITH_LOCK 'a ' -- true"],
    ["shared, in an exclusive run", "a", "$WITH_LOCK -s a -- true"],
    ["in a script in a run", "a", "$WITH_LOCK b -- $WITH_LOCK a -- true"],
  ])("is refused the lock around it at once: %s", async (_, outer, line) => {
    const key = /'(.+?)'/.exec(line)?.[1] ?? "a";
    const wanted = `with-lock.sh: ${held(key)}: waiting would never end\n`;
    expect(await under(outer, line)).toEqual({ stdout: "5\n", stderr: wanted });
  });

  test("does not wait either when it should not, and says why", async () => {
    const wanted = { stdout: "3\n", stderr: `with-lock.sh: ${held("a")}\n` };
    expect(await under("a", "$WITH_LOCK -n a -- true")).toEqual(wanted);
  });

  test("refuses a run inside of it the same lock", async () => {
    const { stdout, stderr } = await under("x", "$WITH_LOCK a -- $HOLDFAST run a -- true");
    const wanted = `holdfast: ${held("a")}: waiting would never end (DEADLOCK)\n`;
    expect([stdout, stderr]).toEqual(["5\n", wanted]);
  });

  test("shares a lock with the run around it, and goes by what the cluster shows", async () => {
    const both = await under("x", "$HOLDFAST run -s a -c '$WITH_LOCK -s a -- echo in'");
    expect(both).toEqual({ stdout: "in\n0\n", stderr: "" });
    const stale = await under("x", "HOLDFAST_HELD='- 1 1 exclusive a' $WITH_LOCK a -- echo in");
    expect(stale).toEqual({ stdout: "in\n0\n", stderr: "" });
  });
});
