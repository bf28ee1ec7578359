/** How many sockets the client port takes, and what counts as one address. */
import { describe, expect, test } from "vitest";
import {
  addressGroup,
  isOwnMachine,
  limitsFor,
  socketLimitsOf,
} from "../../../src/net/gateway/socket-limits.js";

describe("the sockets of the client port", () => {
  test.each([
    [Number.POSITIVE_INFINITY, 20_256, 20_000, 15_000],
    [65_536, 20_256, 20_000, 15_000],
    [10_240, 8_960, 8_704, 6_528],
    [1_200, 644, 563, 423],
    [1_024, 512, 448, 336],
    [256, 16, 14, 11],
  ])(
    "leave descriptors for everything else: of %d",
    (descriptors, socketsMax, connectionsMax, addressConnectionsMax) => {
      const limits = socketLimitsOf(20_000, descriptors);
      expect(limits).toMatchObject({ socketsMax, connectionsMax });
      for (const shared of [limits.ofAddress, limits.ofOwnMachine]) {
        expect(shared.connectionsMax).toBe(addressConnectionsMax);
        expect(shared.socketsMax).toBeLessThan(socketsMax);
      }
    },
  );
});

test("the sockets of one address can be set, and programs on this machine keep theirs", () => {
  const few = socketLimitsOf(1_000, 65_536, 10);
  expect(limitsFor(few, "10.1.2.3").connectionsMax).toBe(10);
  expect(limitsFor(few, "127.0.0.1").connectionsMax).toBe(750);
  const all = socketLimitsOf(1_000, 65_536, Number.POSITIVE_INFINITY);
  expect(limitsFor(all, "10.1.2.3")).toEqual(limitsFor(all, "127.0.0.1"));
  expect(limitsFor(all, "10.1.2.3").connectionsMax).toBe(1_000);
});

test("this machine has the addresses of its loopback interface, and its sockets in files", () => {
  for (const own of ["127.0.0.1", "::ffff:127.0.0.1", "127.1.2.3", "::1", undefined]) {
    expect(isOwnMachine(addressGroup(own))).toBe(true);
  }
  for (const other of ["10.0.0.1", "128.0.0.1", "fe80::1%lo", "2001:db8::1", "1270::1"]) {
    expect(isOwnMachine(addressGroup(other))).toBe(false);
  }
});

test("an address is an IPv4 address, however it is written, or a network of IPv6", () => {
  expect(addressGroup("10.1.2.3")).toBe("10.1.2.3");
  expect(addressGroup("::ffff:10.1.2.3")).toBe("10.1.2.3");
  const network = addressGroup("2001:db8:1:2:3:4:5:6");
  expect(addressGroup("2001:db8:1:2::6")).toBe(network);
  expect(addressGroup("2001:db8:1:3::6")).not.toBe(network);
  expect(addressGroup("fe80::1%eth0")).toBe(addressGroup("fe80::2"));
  expect(addressGroup("::1")).toBe("0:0:0:0::/64");
  expect(addressGroup(undefined)).toBe("");
});
