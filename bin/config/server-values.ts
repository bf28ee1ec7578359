/**
 * What is wrong with values of `holdfast server`, whichever others may be added to them: a value that
 * no node takes, or two that contradict each other. Says options as flags. Loads nothing of a node.
 */
import { OptionError } from "../../src/errors/index.js";
import { demandGiven, demandRelations, tuningOf } from "../../src/node-options/index.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import type { SettledOptions } from "../options/option-definition.js";
import type { SERVER_OPTIONS } from "../options/option-table.js";
import { givenToNode } from "../options/server-options.js";
import { sayFlag } from "../text/option-spelling.js";

/** As people give them; what has a default may be left out. */
export type ServerFlags = Partial<SettledOptions<typeof SERVER_OPTIONS>>;

/** Fails with exit code 2. */
export function requireServerValues(flags: ServerFlags): void {
  const { settings, tuning } = givenToNode(flags);
  try {
    demandGiven(settings);
    demandRelations({ ...settings, ...tuningOf(tuning) });
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    throw new Failure(EXIT.usage, error.messageIn(sayFlag), { cause: error });
  }
}
