/**
 * Reads the values of server messages as a client has to: a newer node may send more than this client
 * knows. Reasons and errors that it does not know are accepted, and positions after the known ones
 * are skipped, of which only the form is checked.
 */
import type { ErrorNumber } from "../../errors/index.js";
import {
  BLOCKED_BY,
  type BlockedBy,
  CLAIM_MODES,
  type ClaimMode,
  END_REASON,
  type EndReason,
  FIRST_ERROR,
  isEndReason,
  isStatus,
  type MessageSource,
  RECALL_STATE,
  Reader,
  type RecallState,
  STATUS,
} from "../../protocol/index.js";
import { plainValueEnd } from "./plain-value.js";
import { unpackPayload } from "./unpack-payload.js";

const BLOCKED_BY_MAX = Math.max(...Object.values(BLOCKED_BY));
const RECALL_STATE_MAX = Math.max(...Object.values(RECALL_STATE));

export class MessageReader extends Reader implements MessageSource {
  passOver(count: number): void {
    for (let left = count; left > 0; left--) this.at = plainValueEnd(this.bytes, this.at);
  }

  listHeader(): number {
    return this.arrayHeader();
  }

  within(): number {
    return this.uint();
  }

  textUnder(): string {
    return this.string();
  }

  string(): string {
    const length = this.stringHeader();
    return this.printableText(length) ?? this.text(length) ?? this.fail("not UTF-8");
  }

  token(): number {
    return this.uint();
  }

  tokenOrNone(): number {
    return this.uint();
  }

  status(): number {
    const start = this.at;
    const status = this.uint();
    if (status < FIRST_ERROR && !isStatus(status)) this.fail(`unknown status ${status}`, start);
    return status;
  }

  okOrError(): typeof STATUS.ok | ErrorNumber {
    const status = this.uint();
    if (status !== STATUS.ok && status < FIRST_ERROR) this.fail(`unknown status ${status}`);
    return status as typeof STATUS.ok | ErrorNumber;
  }

  error(): ErrorNumber {
    const status = this.uint();
    if (status < FIRST_ERROR) this.fail(`status ${status} is not an error`);
    return status as ErrorNumber;
  }

  /** One that this client does not know is read as unknown. */
  endReason(): EndReason {
    const reason = this.uint();
    return isEndReason(reason) ? reason : END_REASON.unknown;
  }

  blockedBy(): BlockedBy {
    const number = this.uint();
    if (number > BLOCKED_BY_MAX) this.fail(`blocked by ${number}`);
    return number as BlockedBy;
  }

  mode(): ClaimMode {
    const mode = this.uint();
    return CLAIM_MODES[mode] ?? this.fail(`unknown mode ${mode}`);
  }

  recallState(): RecallState {
    const start = this.at;
    const state = this.uint();
    if (state > RECALL_STATE_MAX) this.fail(`unknown state ${state}`, start);
    return state as RecallState;
  }

  payload(): unknown {
    const start = this.at;
    this.passOver(1);
    return unpackPayload(this.bytes.subarray(start, this.at));
  }
}
