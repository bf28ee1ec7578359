import { expect, test } from "vitest";
import { startFailure } from "../../../bin/exit/start-failure.js";
import { HoldfastError, OptionError, type SayOption } from "../../../src/errors/index.js";

const OPTIONS = {
  listen: { host: "127.0.0.1", port: 7_411 },
  peerListen: { host: "127.0.0.1", port: 7_511 },
  dataDirectory: "data",
};

test("an option that the node refuses is named by its flag", () => {
  const error = new OptionError(
    "INVALID_ARGUMENT",
    (say) =>
      `the node is open to others: say so with ${say("insecure")}, or see to ${say("initialCluster")}`,
  );
  expect(error.message).toMatch(/ insecure, .* initialCluster$/);
  const failure = startFailure(error, OPTIONS);
  expect(failure.message).toBe(
    "the node is open to others: say so with --insecure, or see to --initial-cluster",
  );
  expect(failure.exitCode).toBe(2);
});

test("a value is written as after its flag, and what is not an option stays as it is", () => {
  const told = (text: (say: SayOption) => string): string =>
    startFailure(new OptionError("UNAVAILABLE", text), OPTIONS).message;
  const address = { host: "::1", port: 1 };
  expect(told((say) => `cannot listen on a:1 (${say("listen")})`)).toBe(
    "cannot listen on a:1 (--listen)",
  );
  expect(told((say) => `${say("listen", address)}: listen on 127.0.0.1`)).toBe(
    "--listen [::1]:1: listen on 127.0.0.1",
  );
  expect(told((say) => `${say("auditKeepMs", 90_000)}, ${say("auditBytesMax", 1_024)}`)).toBe(
    "--audit-keep 1.5m, --audit-max-size 1KiB",
  );
  // Tuning of programs has no flag.
  expect(told((say) => say("segmentBytes", 7))).toBe("segmentBytes 7");
  const text = "the data in /insecure/join belong to another cluster";
  expect(startFailure(new HoldfastError("UNAVAILABLE", text), OPTIONS).message).toBe(text);
});

test("TLS files that cannot be used are named by their flags, and are not wrong usage", () => {
  const error = new OptionError("UNAVAILABLE", (say) => `n1.key (${say("tlsKey")}) is not the key`);
  const failure = startFailure(error, OPTIONS);
  expect(failure.message).toBe("n1.key (--tls-key) is not the key");
  expect(failure.exitCode).toBe(1);
});
