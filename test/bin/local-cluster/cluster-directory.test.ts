import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  drawClusterName,
  noteIn,
  prepareDirectory,
} from "../../../bin/local-cluster/cluster-directory.js";
import { planCluster } from "../../../bin/local-cluster/cluster-plan.js";

let parent = "";

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "holdfast-cluster-"));
});

afterEach(() => rmSync(parent, { recursive: true }));

test("a directory that was never used knows no members, afterwards the members of the first start", () => {
  const directory = join(parent, "deep", "data");
  expect(noteIn(directory)).toBeUndefined();
  const clusterName = drawClusterName();
  prepareDirectory(planCluster(directory, clusterName, [7411, 7412], [7511, 7520]));
  expect(noteIn(directory)).toEqual({ peerPorts: [7511, 7520], clusterName });
});

test("the logs of the last run are put aside, older logs are gone", () => {
  const plan = planCluster(parent, "any", [7411], [7511]);
  const log = join(parent, "n1.log");
  prepareDirectory(plan);
  writeFileSync(log, "first");
  prepareDirectory(plan);
  expect([existsSync(log), readFileSync(`${log}.previous`, "utf8")]).toEqual([false, "first"]);
  prepareDirectory(plan);
  expect(existsSync(`${log}.previous`)).toBe(false);
});

test("a note that is damaged is refused, not replaced", () => {
  for (const text of [
    "",
    "{",
    "null",
    '{"peerPorts":[]}',
    '{"peerPorts":[0],"clusterName":"a"}',
    '{"peerPorts":7,"clusterName":"a"}',
    '{"peerPorts":[7511]}',
    '{"peerPorts":[7511],"clusterName":""}',
  ]) {
    writeFileSync(join(parent, "cluster.json"), text);
    expect(() => noteIn(parent), text).toThrow("cluster.json is damaged");
  }
});

test("a path that is not a directory is refused with the reason", () => {
  const file = join(parent, "file");
  writeFileSync(file, "");
  expect(() => noteIn(file)).toThrow("a part of the path is not a directory");
  const below = planCluster(join(file, "data"), "any", [7411], [7511]);
  expect(() => prepareDirectory(below)).toThrow(`the directory ${below.directory} cannot be used`);
});
