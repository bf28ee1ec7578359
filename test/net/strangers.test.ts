/** Who has to go when too many connections have not said who they are. */
import { expect, test } from "vitest";
import { networkOf, Strangers } from "../../src/net/strangers.js";

interface One {
  readonly network: string;
  readonly number: number;
}

function come(strangers: Strangers<One>, network: string, number: number): number | undefined {
  const gone = strangers.add({ network, number });
  if (gone !== undefined) strangers.delete(gone);
  return gone?.number;
}

test("a crowd from one network pushes out its own oldest, and nobody else", () => {
  const strangers = new Strangers<One>(10, () => false);
  expect(come(strangers, "10.0.0.2", 0)).toBeUndefined();
  const gone = Array.from({ length: 100 }, (_, i) => come(strangers, "10.0.0.9", 1 + i));
  expect(gone.slice(9)).toEqual(Array.from({ length: 91 }, (_, i) => 1 + i));
});

test("one connection from each of many networks does not push out the few of a member", () => {
  const strangers = new Strangers<One>(64, (network) => network === "10.0.0.2");
  for (let i = 0; i < 8; i += 1) come(strangers, "10.0.0.2", i);
  const gone = Array.from({ length: 500 }, (_, i) => come(strangers, `192.0.2.${i}`, 8 + i));
  expect(gone.filter((number) => number !== undefined && number < 8)).toEqual([]);
  expect(gone.filter((number) => number !== undefined)).toHaveLength(500 - 56);
});

test("a crowd from the machine of a member pushes out its own oldest, too", () => {
  const strangers = new Strangers<One>(20, () => true);
  const gone = Array.from({ length: 50 }, (_, i) => come(strangers, "127.0.0.1", i));
  expect(gone.slice(20)).toEqual(Array.from({ length: 30 }, (_, i) => i));
});

test.each([
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
  ["2001:db8::5", "2001:db8:0:0"],
  ["fe80::1:2:3:4", "fe80:0:0:0"],
  ["::1", "0:0:0:0"],
  [undefined, ""],
])("the network of %s is %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});
