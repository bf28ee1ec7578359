/** The port of the tour: what is wrong with a request is answered, and ends nothing but itself. */
import { request } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Controlled, ControlPort } from "../../../bin/tour/control-port.js";

const ORIGIN = "http://127.0.0.1:7420";
let control: ControlPort;

beforeEach(async () => {
  control = await ControlPort.open();
});

afterEach(() => control.close());

function admit(act: Controlled["act"]): void {
  control.admit({ state: () => ({ step: 1 }), act }, [ORIGIN]);
}

/** Resolves to the status, or to why there is none. */
function act(chunks: readonly string[]): Promise<number | string> {
  const [port, secret] = control.key.split(".");
  const headers = { Origin: ORIGIN, Authorization: `Bearer ${secret}` };
  return new Promise((resolve) => {
    const where = { host: "127.0.0.1", port, path: "/act", method: "POST" };
    const sent = request({ ...where, headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on("error", ({ message }) => resolve(message));
    for (const chunk of chunks) sent.write(chunk);
    sent.end();
  });
}

test("a body in chunks that is too long is refused with an answer", async () => {
  admit(async () => undefined);
  expect(await act(["x".repeat(70_000), "x"])).toBe(413);
  expect(await act(["pause"])).toBe(202);
});

test("an act that fails ends its connection, and not the process", async () => {
  admit(async (name) => {
    if (name === "bad") throw new Error("the act failed");
    return undefined;
  });
  expect(await act(["bad"])).toBe("socket hang up");
  expect(await act(["good"])).toBe(202);
});
