/** One question over TCP, which the other side closes after its answer. */
import { connect } from "node:net";

const HOST = "127.0.0.1";
const ANSWER_MS_MAX = 2_000;

export function askOverTcp(port: number, question: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, HOST, () => socket.write(question));
    let answer = "";
    socket.setTimeout(ANSWER_MS_MAX, () => socket.destroy(new Error(`port ${port}: no answer`)));
    socket.setEncoding("utf8");
    socket.on("data", (text: string) => {
      answer += text;
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(answer));
  });
}
