/** Where a step finds the keys and the owner of its lease. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Configuration } from "../../../bin/config/configuration.js";
import { EXIT } from "../../../bin/exit/exit-codes.js";
import { type LeaseFlags, leaseFrom, ownerFrom } from "../../../bin/lease/lease-record.js";

let place = "";
beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), "holdfast-lease-"));
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

function fileOf(text: string): string {
  const path = join(place, `${Math.abs(hashOf(text))}`);
  writeFileSync(path, text, { mode: 0o600 });
  chmodSync(path, 0o600);
  return path;
}

/** Names a file after its text. */
function hashOf(text: string): number {
  let hash = 7;
  for (const unit of text) hash = (hash * 31 + unit.charCodeAt(0)) | 0;
  return hash;
}

function configured(environment: Readonly<Record<string, string>> = {}): Configuration {
  return Configuration.from(() => undefined, environment);
}

function refusal(keys: readonly string[], flags: LeaseFlags): string {
  try {
    leaseFrom(keys, flags, configured());
  } catch (error) {
    expect(error).toMatchObject({ exitCode: EXIT.usage });
    return (error as Error).message;
  }
  throw new Error("it was accepted");
}

describe("a lease", () => {
  test("is named by a file, which has keys and owner", () => {
    const lease = fileOf('{"keys":["a","b"],"owner":"secret","token":7,"later":true}\n');
    expect(leaseFrom([], { lease }, configured())).toEqual({ keys: ["a", "b"], owner: "secret" });
  });

  test("is named by keys and by an owner, in a file or in the environment", () => {
    const ownerFile = fileOf("two\n");
    expect(leaseFrom(["a"], { ownerFile }, configured()).owner).toBe("two");
    const environment = configured({ HOLDFAST_LEASE_OWNER: "three" });
    expect(leaseFrom(["a"], {}, environment)).toEqual({ keys: ["a"], owner: "three" });
    expect(leaseFrom(["a"], { ownerFile }, environment).owner).toBe("two");
    expect(ownerFrom({}, configured())).toBeUndefined();
  });

  test("is refused if something is missing or said twice, and the owner is never shown", () => {
    const lease = fileOf('{"keys":["a"],"owner":"secret"}');
    const refusals = [
      refusal([], {}),
      refusal(["a"], {}),
      refusal(["a"], { lease }),
      refusal([], { lease, ownerFile: lease }),
      refusal(["a"], { ownerFile: fileOf(" \n") }),
      refusal([], { lease: join(place, "nowhere") }),
    ];
    const expected = [
      /give the keys of the lease, or --lease/,
      /no owner: give --lease.*HOLDFAST_LEASE_OWNER/,
      /keys and --lease exclude each other/,
      /--lease has the owner: it excludes --owner-file/,
      /is empty: the owner of a lease is required/,
      /cannot read .*nowhere: there is no such file/,
    ];
    for (const [at, text] of refusals.entries()) expect(text).toMatch(expected[at] as RegExp);
    expect(refusals.join()).not.toContain("secret");
  });

  test("is not read from a file of anything else", () => {
    const others = ["", "owner", "[]", "null", '{"keys":[],"owner":"o"}', '{"keys":["a"]}'];
    others.push('{"keys":["a",1],"owner":"o"}', '{"keys":["a"],"owner":""}');
    for (const text of others) {
      expect(refusal([], { lease: fileOf(text) })).toMatch(/is not a file of lease take --out$/);
    }
  });
});
