/**
 * A hundred `holdfast run`s of one key, sixty at a time, each of which reads a counter from a file
 * and writes it back increased by one: two that ran at once would lose an increment.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { endAllStarted } from "../../../../lab/end-with-process.js";
import { connect } from "../../../../src/index.js";
import { runsOf } from "../../../runs.js";
import { startCluster } from "../../world/cluster-process.js";
import { type CliResult, runCli } from "../../world/command-line.js";

const RUNS = runsOf(100);
const AT_A_TIME = 60;
const MINUTES_MAX = 30;
/** The fencing tokens are kept next to it, in the order in which they were used. */
const INCREMENT = 'read n < counter; echo $((n + 1)) > counter; echo "$HOLDFAST_TOKEN" >> tokens';

afterAll(endAllStarted);

test(
  `of ${RUNS} runs, ${AT_A_TIME} at a time, that each increment a counter in a file, no increment is lost`,
  async () => {
    await using cluster = await startCluster();
    const { directory: cwd, endpoints } = cluster;
    const counter = join(cwd, "counter");
    await writeFile(counter, "0\n");
    // A machine that is busy with sixty starts answers late, which the command would remark.
    const patience = ["-q", "--ttl=60s", "--connect-timeout=60s"];
    const args = ["run", ...patience, `--endpoints=${endpoints}`, "counter", "-c", INCREMENT];
    const failures: CliResult[] = [];
    let started = 0;
    const lane = async (): Promise<void> => {
      while (started < RUNS && failures.length === 0) {
        started += 1;
        const result = await runCli(args, { cwd });
        if (result.code !== 0 || result.stderr !== "") failures.push(result);
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, lane));

    expect(failures.map(({ code, signal, stderr }) => ({ code, signal, stderr }))).toEqual([]);
    expect(Number(await readFile(counter, "utf8"))).toBe(RUNS);
    const tokens = (await readFile(join(cwd, "tokens"), "utf8")).trim().split("\n").map(Number);
    expect(tokens).toHaveLength(RUNS);
    expect(tokens.every((token, index) => index === 0 || token > (tokens[index - 1] ?? 0))).toBe(
      true,
    );
    await using observer = await connect({ endpoints });
    expect(await observer.inspect("counter")).toMatchObject({ holds: [], waiters: [] });
  },
  MINUTES_MAX * 60_000,
);
