/**
 * What commands that only look have in common: a client for the time of one question, and names
 * from other people's programs made safe for a terminal.
 */
import type { Client } from "../src/index.js";
import type { ClusterAccess } from "./command-options.js";

/** Runs `ask` with a client and closes it, whatever happens. */
export async function withClient<T>(
  access: ClusterAccess,
  ask: (client: Client) => Promise<T>,
): Promise<T> {
  const { connect } = await import("../src/index.js");
  const client = await connect(access);
  try {
    return await ask(client);
  } finally {
    await client.close();
  }
}

/** Session names are anybody's text: control characters must not reach the terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}
