/**
 * What the client for Go is besides a player of transcripts: a module that builds copied, required and fetched, and
 * pages whose examples compile and run.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findCommand } from "../../lab/find-command.js";
import { readBlocks } from "../docs/document-project.js";
import { type ClusterProcess, startCluster } from "../e2e/world/cluster-process.js";
import { PYTHON, runGo } from "./languages.js";
import { CLIENTS } from "./transcript.js";

const SOURCE = `${CLIENTS}go`;
const MODULE = "holdfast.example/clients/go";
/** The newest, and the oldest that the module promises, where Debian has put it. */
const COMPILERS = new Set(
  [findCommand("go"), findCommand("go", ["/usr/lib/go-1.19/bin"])].filter((go) => go !== undefined),
);
const missing = COMPILERS.size === 0 ? "go is not installed" : undefined;

const PROGRAM = (path: string): string => `package main

import "${path}"

func main() {
	if _, err := holdfast.New(holdfast.Config{Endpoints: []string{"http://127.0.0.1:1"}}); err != nil {
		panic(err)
	}
	println(holdfast.Version)
}
`;

describe.skipIf(missing !== undefined)(`the module for Go [${missing ?? "is tested"}]`, () => {
  let cluster: ClusterProcess;
  let directory: string;

  beforeAll(async () => {
    cluster = await startCluster();
    directory = mkdtempSync(join(tmpdir(), "holdfast-go-"));
  });

  afterAll(async () => {
    await cluster?.stop();
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  });

  /** An empty module with a program that imports the package. */
  function emptyModule(name: string, path: string): string {
    const place = join(directory, name);
    mkdirSync(place);
    writeFileSync(join(place, "go.mod"), "module example.com/program\n\ngo 1.19\n");
    writeFileSync(join(place, "main.go"), PROGRAM(path));
    return place;
  }

  function expectRuns(place: string, go: string, env: Readonly<Record<string, string>> = {}): void {
    const program = join(place, "program");
    runGo(["build", "-o", program, "."], place, { go, env });
    const { status, stderr } = spawnSync(program, { encoding: "utf8" });
    const { version } = JSON.parse(readFileSync(`${CLIENTS}../package.json`, "utf8")) as {
      version: string;
    };
    expect([status, stderr.trim()]).toEqual([0, version]);
  }

  describe.each([...COMPILERS].map((go, at) => [go, at] as const))("with %s", (go, at) => {
    test("is clean, and its tests and examples pass with a cluster", () => {
      runGo(["vet", "./..."], SOURCE, { go });
      const env = { HOLDFAST_ENDPOINTS: cluster.endpoints.join() };
      const printed = runGo(["test", "-count=1", "-v", "./..."], SOURCE, { go, env });
      expect(printed).toContain("--- PASS: TestExamples");
      expect(printed).not.toContain("--- SKIP");
      for (const line of ["begun", "granted builds/17", "ended builds/17", "cuda: 0"]) {
        expect(printed.split("\n").map((each) => each.trim())).toContain(line);
      }
    });

    test("builds as a package that was copied into another module", () => {
      const place = emptyModule(`copied-${at}`, "example.com/program/holdfast");
      cpSync(`${SOURCE}/holdfast`, join(place, "holdfast"), {
        recursive: true,
        filter: (path) => !path.endsWith("_test.go"),
      });
      runGo(["vet", "./..."], place, { go });
      expectRuns(place, go);
    });

    test("builds in an empty module that requires it by its path", () => {
      const place = emptyModule(`required-${at}`, `${MODULE}/holdfast`);
      runGo(["mod", "edit", "-replace", `${MODULE}=${SOURCE}`], place, { go });
      runGo(["get", `${MODULE}/holdfast`], place, { go });
      expectRuns(place, go);
    });
  });

  test.skipIf(PYTHON === undefined)("builds in an empty module that gets it from a proxy", () => {
    const [go = ""] = COMPILERS;
    const { version } = JSON.parse(readFileSync(`${CLIENTS}../package.json`, "utf8")) as {
      version: string;
    };
    const versions = join(directory, "proxy", MODULE, "@v");
    mkdirSync(versions, { recursive: true });
    const file = join(versions, `v${version}`);
    writeFileSync(`${file}.info`, JSON.stringify({ Version: `v${version}` }));
    cpSync(`${SOURCE}/go.mod`, `${file}.mod`);
    const zip = `
import os, sys, zipfile
source, target, prefix = sys.argv[1:]
with zipfile.ZipFile(target, "w") as file:
    for place, _, names in os.walk(source):
        for name in names:
            path = os.path.join(place, name)
            file.write(path, prefix + os.path.relpath(path, source))
`;
    spawnSync(PYTHON ?? "", ["-c", zip, SOURCE, `${file}.zip`, `${MODULE}@v${version}/`]);
    const place = emptyModule("fetched", `${MODULE}/holdfast`);
    const env = {
      GOPROXY: `file://${join(directory, "proxy")}`,
      GOSUMDB: "off",
      GOFLAGS: "-mod=mod -modcacherw",
      GOMODCACHE: join(directory, "modules"),
    };
    runGo(["get", `${MODULE}/holdfast@v${version}`], place, { go, env });
    expectRuns(place, go, env);
  });

  const blocks = readBlocks(["clients/go/README.md", "docs/coding/go.md"]).filter(
    ({ language }) => language === "go",
  );
  const dedented = (lines: readonly string[]): string => {
    return lines.map((line) => line.trim()).join("\n");
  };

  test.each(blocks.map((block) => [`${block.page}:${block.line}`, block] as const))(
    "the example at %s is part of an example that compiles",
    (_, { lines }) => {
      const examples = readFileSync(`${SOURCE}/holdfast/example_test.go`, "utf8").split("\n");
      expect(dedented(examples)).toContain(dedented(lines));
    },
  );
});
