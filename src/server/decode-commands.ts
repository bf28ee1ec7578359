/** The records of an entry or of a forwarded chunk, as the table takes them. */
import type { TableCommand } from "../lockfsm/index.js";
import { decodeCommand, decodeRecords } from "../protocol/index.js";

/** Decodes every record of `bytes` from `offset` on. A command nobody can read stays, as nothing. */
export function decodeCommands(bytes: Uint8Array, offset: number): TableCommand[] {
  const commands: TableCommand[] = [];
  for (const record of decodeRecords(bytes, offset)) {
    const { session, epoch } = record;
    commands.push({ session, epoch, command: decodeCommand(record.bytes) });
  }
  return commands;
}
