/** Every command as help, completion and the documents know it. */
import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { beforeAll, describe, expect, test } from "vitest";
import { EXIT, exitCodesText } from "../../../bin/exit/exit-codes.js";
import { COMMANDS, EVERY_EXIT } from "../../../bin/program/command-list.js";
import { buildProgram } from "../../../bin/program/program.js";
import { cliReference } from "../../../scripts/cli-reference.js";

/** The width of most terminals. */
const COLUMNS = 80;

let program: Command;
beforeAll(async () => {
  const built = buildProgram(() => undefined);
  await built.loadAll();
  program = built.command;
});

test("the page of commands is made from their definitions: run `npm run docs:cli` to renew it", async () => {
  const page = new URL("../../../docs/reference/cli.md", import.meta.url);
  expect(await readFile(page, "utf8")).toBe(await cliReference());
});

test("the exit codes of a command are codes of the table, ascending", () => {
  const known = new Set<number>(Object.values(EXIT));
  for (const { name, exits } of COMMANDS) {
    expect([...exits], name).toEqual([...exits].sort((one, other) => one - other));
    expect(
      exits.every((code) => known.has(code) && !EVERY_EXIT.includes(code)),
      name,
    ).toBe(true);
  }
});

describe("every command", () => {
  /** The whole help: what commander makes, and what was added before and after. */
  function helpOf(command: Command): string {
    let text = "";
    command.configureOutput({
      writeOut: (chunk) => (text += chunk),
      getOutHelpWidth: () => COLUMNS,
    });
    command.outputHelp();
    return text;
  }

  function* all(command: Command): Generator<Command> {
    for (const below of command.commands) {
      yield below;
      yield* all(below);
    }
  }

  test("begins its help with examples that name it", () => {
    for (const command of all(program)) {
      if (command.name() === "help") continue;
      const [heading, first] = helpOf(command).split("\n");
      expect([command.name(), heading]).toEqual([command.name(), "Examples:"]);
      expect(first).toContain("holdfast ");
      expect(first).toContain(command.name());
    }
  });

  test("has no line of help that a terminal of 80 columns breaks, nor has the table of exit codes", () => {
    const texts = [program, ...all(program)].map((command) => helpOf(command));
    const lines = [...texts, exitCodesText()].flatMap((text) => text.split("\n"));
    expect(lines.length).toBeGreaterThan(500);
    expect(lines.filter((line) => line.length > COLUMNS)).toEqual([]);
  });
});
