/**
 * Changes the text that others see with a hold, and what it counts against its session and identity.
 * It never refuses: the caller has checked that there is room.
 */
import type { Hold } from "../records/hold.js";
import type { TableState } from "../records/state.js";

export function changeValue(state: TableState, hold: Hold, value: string): void {
  state.rows.grow(hold.session, hold.identity, value.length - hold.value.length);
  hold.changeExtras().value = value;
  state.note("updated", hold);
}
