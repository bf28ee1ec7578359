/**
 * How a connection proves who speaks on it, before anything else is said: it shows its access token
 * once and waits for the answer. A token leaves only through TLS or to this machine, and is never part of an
 * address, an error or a log.
 */
import { ERROR_NUMBERS } from "../../errors.js";
import {
  CLIENT_FRAME_BYTES_MAX,
  isValidAccessToken,
  MESSAGE,
  OP,
  type ServerMessage,
  STATUS,
} from "../../protocol/index.js";
import { FrameWriter } from "./frame-writer.js";
import type { Transport } from "./platform.js";

/** An access token, or a function that is asked for one at every connection. */
export type TokenSource = string | (() => string | Promise<string>);

/** No other request of the connection has this number. */
const SIGN_IN_ID = Number.MAX_SAFE_INTEGER;

export type SignInOutcome =
  /** `next`: the place of the first message after the answer. */
  | { readonly isSignedIn: true; readonly next: number }
  | { readonly isSignedIn: false; readonly isUnknown: boolean; readonly why: string };

/** @throws TypeError for what is no token; its text never contains it */
export async function readToken(source: TokenSource): Promise<string> {
  const token: unknown = typeof source === "function" ? await source() : source;
  const problem = typeof token === "string" ? isValidAccessToken(token) : "token is not a string";
  if (problem !== undefined) throw new TypeError(problem);
  return token as string;
}

/** Whether a token may be sent to that URL: through TLS, or to this machine. */
export function isProtected(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  if (protocol === "wss:") return true;
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
}

export function sendToken(transport: Transport, token: string): void {
  const frame = new FrameWriter((bytes) => transport.send(bytes));
  frame.begin(CLIENT_FRAME_BYTES_MAX);
  frame.add({ op: OP.signIn, id: SIGN_IN_ID, token });
  frame.end();
}

/** The answer among these messages, if it is there. */
export function findOutcome(
  messages: readonly ServerMessage[],
  from: number,
): SignInOutcome | undefined {
  for (let at = from; at < messages.length; at += 1) {
    const message = messages[at] as ServerMessage;
    if (message.kind !== MESSAGE.answer || message.id !== SIGN_IN_ID) continue;
    if (message.status === STATUS.ok) return { isSignedIn: true, next: at + 1 };
    if (message.status !== ERROR_NUMBERS.UNAUTHENTICATED) {
      return { isSignedIn: false, isUnknown: false, why: "cannot check the access token for now" };
    }
    const { message: text } = (message.payload ?? {}) as { readonly message?: unknown };
    const why = typeof text === "string" ? text : "unknown access token";
    return { isSignedIn: false, isUnknown: true, why };
  }
  return undefined;
}
