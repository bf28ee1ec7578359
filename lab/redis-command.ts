/**
 * Sends one command to one Redis on its own connection and returns the answer, so that an earlier
 * command cannot delay it. Understands only answers that are one line (`+OK`, `-ERR …`, `:1`) or
 * one string after its length (`$12`).
 */
import { connect } from "node:net";

interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * Resolves to `undefined` if there is no answer within `answerMsMax`, or if the answer is an error.
 */
export function askRedis(
  { host, port }: Address,
  command: string,
  answerMsMax: number,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, host, () => socket.write(`${command}\r\n`));
    let text = "";
    const timer = setTimeout(() => socket.destroy(), answerMsMax);
    socket.setEncoding("utf8").on("data", (more: string) => {
      text += more;
      if (answerIn(text) !== undefined) socket.destroy();
    });
    // The close that follows an error ends the question.
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(answerIn(text));
    });
  });
}

/** `undefined` while the answer is incomplete, and for an error. All answers are ASCII. */
function answerIn(text: string): string | undefined {
  const end = text.indexOf("\r\n");
  if (end === -1 || text.startsWith("-")) return undefined;
  const first = text.slice(1, end);
  if (!text.startsWith("$")) return first;
  const length = Number(first);
  const body = text.slice(end + 2);
  return body.length >= length + 2 ? body.slice(0, length) : undefined;
}
