import { expect, test } from "vitest";
import { startFailure } from "../../../bin/exit/start-failure.js";
import { HoldfastError } from "../../../src/errors/index.js";

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

test("the option that is a verb as well is told by its flag where it is the option", () => {
  const told = (text: string): string => {
    return startFailure(new HoldfastError("UNAVAILABLE", text), OPTIONS).message;
  };
  expect(told("cannot listen on a:1 (listen): the port is taken")).toBe(
    "cannot listen on a:1 (--listen): the port is taken",
  );
  expect(told("listen a:1 is open to other machines: listen on 127.0.0.1")).toBe(
    "--listen a:1 is open to other machines: listen on 127.0.0.1",
  );
});

test("TLS files that cannot be used are told by their flags, and are no wrong usage", () => {
  const text = "n1.key (tlsKey) is not the key of the certificate in n1.crt";
  const failure = startFailure(new HoldfastError("UNAVAILABLE", text), OPTIONS);
  expect(failure.message).toBe("n1.key (--tls-key) is not the key of the certificate in n1.crt");
  expect(failure.exitCode).toBe(1);
});
