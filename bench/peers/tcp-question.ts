/** One question over TCP, and the answer until the other side closes or a timeout ends the wait. */
import { connect } from "node:net";

const HOST = "127.0.0.1";
const ANSWER_MS_MAX = 2_000;

/** @param isWhole whether an answer so far is complete; otherwise the other side closes */
export function askOverTcp(
  port: number,
  question: string,
  isWhole: (answer: string) => boolean = () => false,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, HOST, () => socket.write(question));
    let answer = "";
    socket.setTimeout(ANSWER_MS_MAX, () => socket.destroy(new Error(`port ${port}: no answer`)));
    socket.setEncoding("utf8");
    socket.on("data", (text: string) => {
      answer += text;
      if (isWhole(answer)) socket.end();
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(answer));
  });
}
