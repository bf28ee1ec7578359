/**
 * WATCH, MULTI and EXEC as lock clients use them. A command that a transaction cannot do is refused when
 * it is queued, and EXEC is then `-EXECABORT`, as in Redis: some clients read as many replies of EXEC as
 * they have queued commands. What EXEC does is decided by `transaction-plan.ts`.
 */
import type { Buffer } from "node:buffer";
import type { ConnectionState } from "../connection-state.js";
import { tableKeyOf } from "../names.js";
import { failureOf, RefusedCommand } from "../refusals.js";
import { OK, type RespReply } from "../resp/index.js";
import type { DoorCommand, HoldBack } from "./command.js";
import { notATransaction, planOf, prefixPlanOf } from "./transaction-plan.js";

export const TRANSACTION_COMMANDS: readonly DoorCommand[] = [
  {
    name: "WATCH",
    least: 1,
    endsQueue: true,
    run({ transaction, database }, keys) {
      if (transaction.isOpen) throw new RefusedCommand("WATCH inside MULTI is not allowed", "ERR");
      for (const key of keys.map((one) => tableKeyOf(database, one))) transaction.watch(key);
      return OK;
    },
  },
  {
    name: "UNWATCH",
    least: 0,
    most: 0,
    run({ transaction }) {
      transaction.unwatch();
      return OK;
    },
  },
  {
    name: "MULTI",
    least: 0,
    most: 0,
    endsQueue: true,
    run({ transaction }) {
      transaction.begin();
      return OK;
    },
  },
  {
    name: "DISCARD",
    least: 0,
    most: 0,
    endsQueue: true,
    run({ transaction }) {
      if (!transaction.isOpen) throw new RefusedCommand("DISCARD without MULTI", "ERR");
      transaction.discard();
      return OK;
    },
  },
  { name: "EXEC", least: 0, most: 0, endsQueue: true, asksCluster: true, run: execute },
];

/** Throws `RefusedCommand` if EXEC could not do the command, and EXEC will refuse the transaction. */
export function queue(
  connection: ConnectionState,
  command: DoorCommand,
  args: readonly Buffer[],
  holdBack: HoldBack,
): void {
  const { transaction } = connection;
  const queued = {
    ...{ name: command.name, args },
    check: (copied: readonly Buffer[]) => command.check?.(connection, copied),
    run: (copied: readonly Buffer[]) => command.run(connection, copied, holdBack),
  };
  try {
    if (command.isNeverQueued === true) throw notATransaction();
    prefixPlanOf(connection, transaction.stepsWith(queued));
  } catch (error) {
    transaction.breakOff();
    throw error;
  }
  transaction.queue(queued);
}

async function execute(connection: ConnectionState): Promise<RespReply> {
  const steps = connection.transaction.take();
  try {
    return await planOf(connection, steps)();
  } catch (error) {
    const failure = failureOf(error, connection.isKnown);
    if (failure.kind === "close" || steps.commands.length === 0) throw error;
    // One for each command: none was done, and clients count the replies of EXEC.
    return steps.commands.map(() => failure);
  }
}
