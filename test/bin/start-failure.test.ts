import { expect, test } from "vitest";
import { startFailure } from "../../bin/start-failure.js";
import { HoldfastError } from "../../src/errors.js";

const OPTIONS = {
  listen: { host: "127.0.0.1", port: 7_411 },
  peerListen: { host: "127.0.0.1", port: 7_511 },
  dataDirectory: "data",
};

test("an option that the node refuses is told by the name of its flag", () => {
  const text = "the node is open to others: say so with insecure, or see to initialCluster";
  const failure = startFailure(new HoldfastError("INVALID_ARGUMENT", text), OPTIONS);
  expect(failure.message).toBe(
    "the node is open to others: say so with --insecure, or see to --initial-cluster",
  );
  expect(failure.exitCode).toBe(2);
});
