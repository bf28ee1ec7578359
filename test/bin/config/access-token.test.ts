/** The access token of a command, where the name of a file is given instead of it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { accessTokenFrom } from "../../../bin/config/access-token.js";
import { Configuration } from "../../../bin/config/configuration.js";
import { EXIT } from "../../../bin/exit/exit-codes.js";
import type { TokenSource } from "../../../src/index.js";

const TOKEN = `hf_${"x".repeat(48)}`;
let directory: string;
let tokenFile: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "holdfast-token-"));
  tokenFile = join(directory, "admin.token");
  writeFileSync(tokenFile, `${TOKEN}\n`, { mode: 0o600 });
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const from = (environment: Record<string, string>): TokenSource | undefined =>
  accessTokenFrom(Configuration.from(() => undefined, environment));

test.each(["/no/such/admin.token", "./b.token", "../b.token", "~/b.token", "package.json"])(
  "a path is told apart from a token, and not shown: %s",
  (path) => {
    expect(() => from({ HOLDFAST_ACCESS_TOKEN: path })).toThrow(
      expect.objectContaining({
        exitCode: EXIT.usage,
        message:
          "HOLDFAST_ACCESS_TOKEN must be the access token itself, and seems to be the name of a " +
          "file: give it as HOLDFAST_ACCESS_TOKEN_FILE",
      }),
    );
  },
);

test("the same in a configuration file names its key", () => {
  const config = join(directory, "holdfast.json");
  writeFileSync(config, JSON.stringify({ accessToken: tokenFile }));
  expect(() => from({ HOLDFAST_CONFIG: config })).toThrow(
    `accessToken in ${config} must be the access token itself, and seems to be the name of a ` +
      "file: give it as tokenFile",
  );
});

test("tokens of any form are taken as they are, and a file gives its own", () => {
  expect(from({ HOLDFAST_ACCESS_TOKEN: ` ${TOKEN} ` })).toBe(TOKEN);
  expect(from({ HOLDFAST_ACCESS_TOKEN: "of/another+form==" })).toBe("of/another+form==");
  const source = from({ HOLDFAST_ACCESS_TOKEN_FILE: tokenFile });
  expect(typeof source === "function" && source()).toBe(TOKEN);
});
