import { expect, test } from "vitest";
import {
  AddressError,
  formatHostPort,
  parseEndpoint,
  parseEndpoints,
  parseHostPort,
  parseNodeAddresses,
  parseNodeId,
} from "../../../bin/text/addresses.js";

test("endpoints are WebSocket URLs separated by commas, each once, in order", () => {
  expect(parseEndpoints("ws://a:1, wss://b:2,,ws://a:1")).toEqual(["ws://a:1", "wss://b:2"]);
  expect(parseEndpoints("a:1,127.0.0.1:7411")).toEqual(["ws://a:1", "ws://127.0.0.1:7411"]);
  expect(parseEndpoint("ws://[::1]:7411/")).toBe("ws://[::1]:7411");
  expect(parseEndpoint("wss://locks.example")).toBe("wss://locks.example");
  expect(parseEndpoints("https://a:1, http://b:2")).toEqual(["wss://a:1", "ws://b:2"]);
  // A bare name has the usual port, and never port 80 unless it says so.
  expect(parseEndpoints("foo,foo/,[::1]")).toEqual(["ws://foo:7411", "ws://[::1]:7411"]);
  expect(parseEndpoint("foo:80")).toBe("ws://foo");
});

test("an endpoint that is something else is refused with what is wrong", () => {
  expect(() => parseEndpoints(" , ")).toThrow("no endpoint was given");
  expect(() => parseEndpoint("ftp://a:1")).toThrow("must begin with ws://, wss://");
  expect(() => parseEndpoint("ws://a:1/v1")).toThrow("must not have a path");
  expect(() => parseEndpoint("ws://user:geheim@a:1")).toThrow(
    /^"ws:\/\/…@a:1" can have only .*: an access token belongs in HOLDFAST_ACCESS_TOKEN or a file/,
  );
  expect(() => parseEndpoint("ftp://user:geheim@a:1")).toThrow(/^"ftp:\/\/…@a:1" must begin/);
  expect(() => parseEndpoint("ws://a:1?x=1")).toThrow("can have only");
  for (const text of ["foo:", "ws://", "ws://a:99999", "a b", "::1"]) {
    expect(() => parseEndpoint(text), text).toThrow(AddressError);
  }
});

test("an address is a host and a port, IPv6 in brackets", () => {
  expect(parseHostPort("127.0.0.1:7411")).toEqual({ host: "127.0.0.1", port: 7411 });
  expect(parseHostPort("db-1.example:0")).toEqual({ host: "db-1.example", port: 0 });
  expect(parseHostPort("[::1]:65535")).toEqual({ host: "::1", port: 65535 });
  for (const text of [
    "",
    ":7411",
    "a",
    "a:",
    "a:x",
    "a:65536",
    "::1:7411",
    "[::1]",
    "a:1:2",
    "u@a:1",
  ]) {
    expect(() => parseHostPort(text), text).toThrow(AddressError);
  }
});

test("an address is written as it is read", () => {
  for (const text of ["127.0.0.1:7411", "[::1]:7411"]) {
    expect(formatHostPort(parseHostPort(text))).toBe(text);
  }
});

test("members are numbered addresses, every number once", () => {
  expect(parseNodeAddresses("1=a:1, 2=[::1]:2")).toEqual([
    { id: 1, address: { host: "a", port: 1 } },
    { id: 2, address: { host: "::1", port: 2 } },
  ]);
  expect(() => parseNodeAddresses("1=a:1,1=b:1")).toThrow("node 1 is given twice");
  expect(() => parseNodeAddresses("a:1")).toThrow("does not have the form ID=HOST:PORT");
});

test("a node id is a whole number from 1 to 2^32 - 1", () => {
  expect(parseNodeId("1")).toBe(1);
  expect(parseNodeId("4294967295")).toBe(2 ** 32 - 1);
  for (const text of ["0", "4294967296", "-1", "1.5", "", "x", "1e3"]) {
    expect(() => parseNodeId(text), text).toThrow(AddressError);
  }
});
