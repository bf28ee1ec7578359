/** The commands of the whole program, as commander knows them from within any one of them. */
import type { Command } from "commander";

/** All commands of the program that `command` belongs to, except help. */
export function programCommands(command: Command): readonly Command[] {
  let program = command;
  while (program.parent !== null) program = program.parent;
  return program.commands.filter((child) => child.name() !== "help");
}
