/**
 * How a connection proves who speaks on it: after the first `hello` it shows its access token, and the
 * node says `hello` again, with what that identity may know. A token leaves only through TLS or to
 * this machine, and is never part of an address, an error or a log.
 */
import { ERROR_NUMBERS, HoldfastError } from "../../errors/index.js";
import { CLIENT_FRAME_BYTES_MAX, MESSAGE, OP, type ServerMessage } from "../../protocol/index.js";
import { accessTokenProblem } from "./access-token.js";
import { FrameWriter } from "./frame-writer.js";
import type { Transport } from "./platform.js";

/** An access token, or a function that is asked for one at every connection. */
export type TokenSource = string | (() => string | Promise<string>);

const UNKNOWN = "unknown credential: it was removed or replaced, or belongs to another cluster";

/** No other request of the connection has this number. */
const SIGN_IN_ID = Number.MAX_SAFE_INTEGER;

export interface SignInRefusal {
  /** The cluster does not know the token; else it could not be checked. */
  readonly isUnknown: boolean;
  readonly why: string;
}

/**
 * @throws {HoldfastError} `INVALID_ARGUMENT` for what is not a token; its text never contains it
 */
export async function readToken(source: TokenSource): Promise<string> {
  const token: unknown = typeof source === "function" ? await source() : source;
  const problem =
    typeof token === "string" ? accessTokenProblem(token) : "no access token: it is not a string";
  if (problem !== undefined) throw new HoldfastError("INVALID_ARGUMENT", problem);
  return token as string;
}

export function sendToken(transport: Transport, token: string): void {
  const frame = new FrameWriter((bytes) => transport.send(bytes));
  frame.begin(CLIENT_FRAME_BYTES_MAX);
  frame.add({ op: OP.signIn, id: SIGN_IN_ID, token });
  frame.end();
}

/** Why the node did not take the token; `undefined` if the message is not a refusal. */
export function refusalIn(message: ServerMessage): SignInRefusal | undefined {
  if (message.kind !== MESSAGE.answer || message.id !== SIGN_IN_ID) return undefined;
  if (message.status !== ERROR_NUMBERS.UNAUTHENTICATED) {
    return { isUnknown: false, why: "cannot check the access token for now" };
  }
  const { message: text } = (message.payload ?? {}) as { readonly message?: unknown };
  return { isUnknown: true, why: typeof text === "string" ? text : UNKNOWN };
}
