/**
 * Whether a run sees it when nodes do not check rights: builds with one such bug each are attacked,
 * and must be found not valid by the law that the bug breaks.
 */
import { expect, test } from "vitest";
import type { AnomalyKind } from "../../../jepsen-lite/checker/index.js";
import { type BuildMutant, MutatedBuild } from "../../e2e/power/mutated-build.js";
import { resultDirectory, startJepsen } from "./run-jepsen.js";

const RUN_MS_MAX = 180_000;

const BUGS: readonly [BuildMutant, AnomalyKind][] = [
  [
    {
      name: "acquire-without-a-right",
      rule: "12.4: an acquire needs the right to every key",
      file: "src/lockfsm/holds/rights.ts",
      find: "return mayAcquire(identity, command, levelFor(command));",
      replace: "return true;",
    },
    "forbidden command took effect",
  ],
  [
    {
      name: "list-of-everything",
      rule: "12.11: views show the keys that the viewer may observe",
      file: "src/lockfsm/views/views.ts",
      find: "viewer.levelOfAll(prefix) >= ACCESS_LEVEL.observe",
      replace: "true",
    },
    "forbidden key shown",
  ],
  [
    {
      name: "removed-credential-stays",
      rule: "12.2: a credential that was removed speaks for no identity",
      file: "src/lockfsm/commands/access.ts",
      find: "    state.access.removeCredential(credential);\n",
      replace: "",
    },
    "forbidden command took effect",
  ],
];

test.concurrent.each(BUGS.map(([bug, kind]) => ({ bug, kind, name: bug.name })))(
  "a run finds $name",
  async ({ bug, kind }) => {
    using build = await MutatedBuild.make(bug);
    await using out = await resultDirectory();
    const words = ["--workload=identities", "--nemesis=kill", "--time=10", "--seed=5"];
    const run = startJepsen([...words, `--out=${out.directory}`], build.attacked);
    const { code, stdout, stderr } = await run.ended;
    expect(code, `${stdout}\n${stderr}`).toBe(1);
    const { anomalies, checks } = await out.results();
    expect(anomalies[kind], stdout).toBeGreaterThan(0);
    // Nothing is wrong with that build but what clients may do and see.
    for (const found of Object.keys(anomalies)) expect(found, stdout).toMatch(/^forbidden /);
    expect(checks.find(({ subject }) => subject === "identities")?.valid).toBe(false);
    expect(stdout).toContain(`✗ ${kind} × `);
  },
  RUN_MS_MAX,
);
