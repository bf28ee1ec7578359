/**
 * The text that others see with a hold. It counts for the session and the identity of the hold; whether
 * there is room for it, the caller must have asked before.
 */
import type { Hold } from "../records/hold.js";
import type { TableState } from "../records/state.js";

export function changeValue(state: TableState, hold: Hold, value: string): void {
  state.rows.grow(hold.session, hold.identity, value.length - hold.value.length);
  hold.changeExtras().value = value;
  state.note("updated", hold);
}
