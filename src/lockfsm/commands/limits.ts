/** What is set for good: the limit of a semaphore, and the settings of the whole table. */
import {
  type ChangeSettingCommand,
  LIMIT_MAX,
  type SetLimitCommand,
} from "../../protocol/index.js";
import { evictOversized } from "../expiry/evict.js";
import { advance } from "../holds/grant.js";
import { dropKey, findKey, makeSemaphore, obtainKey } from "../holds/keys.js";
import type { Key } from "../records/key.js";
import type { Semaphore } from "../records/semaphore.js";
import { bytesOfName, isTableFull } from "../records/sizes.js";
import type { TableState } from "../records/state.js";
import { orderOf } from "../records/waiting-queue.js";
import { INVALID_ARGUMENT, OK, QUOTA, WRONG_KIND } from "../results.js";
import { isSettingName, isSettingValue, withSetting } from "../settings.js";
import type { Answer } from "./operator-commands.js";

export function setLimit(state: TableState, command: SetLimitCommand, answer: Answer): void {
  const { key: name, limit } = command;
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0 && limit <= LIMIT_MAX)) {
    answer(INVALID_ARGUMENT);
    return;
  }
  const known = findKey(state, name);
  if (known !== undefined && known.semaphore === undefined) {
    answer(WRONG_KIND);
    return;
  }
  const isSet = known?.semaphore?.isSet ?? false;
  if (limit !== undefined && !isSet && isTableFull(state)) {
    answer(QUOTA);
    return;
  }
  answer(OK);
  if (limit === undefined) forgetLimit(state, known);
  else changeLimit(state, obtainKey(state, name), limit);
}

/** Whoever uses the key goes on under the limit that it has. */
function forgetLimit(state: TableState, key: Key | undefined): void {
  if (key?.semaphore === undefined) return;
  const semaphore = key.semaphore.change();
  if (semaphore.isSet) state.otherBytes -= bytesOfName(key.name);
  semaphore.isSet = false;
  if (key.isIdle) dropKey(state, key);
}

function changeLimit(state: TableState, key: Key, limit: number): void {
  const { semaphore } = key;
  if (semaphore === undefined) {
    makeSemaphore(state, key, limit, true);
    return;
  }
  const before = semaphore.limit;
  if (!semaphore.isSet) state.otherBytes += bytesOfName(key.name);
  const changed = semaphore.change();
  changed.limit = limit;
  changed.isSet = true;
  if (limit < before) lower(state, key, semaphore);
  else if (limit > before) advance(state, key);
}

function lower(state: TableState, key: Key, semaphore: Semaphore): void {
  key.retreat();
  const first = key.queue?.first;
  if (first === undefined) return;
  const { rank, number } = orderOf(first);
  semaphore.evictFrom = { rank, number };
  evictOversized(state, key);
}

export function changeSetting(
  state: TableState,
  { name, value }: ChangeSettingCommand,
  answer: Answer,
): void {
  if (!isSettingName(name) || (value !== undefined && !isSettingValue(name, value))) {
    answer(INVALID_ARGUMENT);
    return;
  }
  state.settings = withSetting(state.settings, name, value);
  answer(OK);
}
