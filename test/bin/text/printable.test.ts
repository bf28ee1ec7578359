import fc from "fast-check";
import { expect, test } from "vitest";
import { dotText, jsonLine, withoutCredentials } from "../../../bin/text/printable.js";
import { accessTokenOf } from "../../../src/client/transport/access-token.js";

/** What a terminal may obey: C0, DEL, C1, marks of direction and other invisible characters. */
const OBEYED = /[\p{Cc}\p{Cf}\u2028\u2029]/u;
const HOSTILE = "a\u001b[2J\u009b31m\u007f\u202e\u{e0001}\u2028z";

test("a document says the same as JSON, with nothing in it that a terminal obeys", () => {
  expect(JSON.parse(jsonLine({ name: HOSTILE }))).toEqual({ name: HOSTILE });
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 0x10ffff })), (codes) => {
      const text = String.fromCodePoint(...codes.filter((code) => (code & 0xf800) !== 0xd800));
      const line = jsonLine([text]);
      expect(line).not.toMatch(OBEYED);
      expect(JSON.parse(line)).toEqual([text]);
    }),
  );
});

test("what a URL has of users, passwords and queries is not shown", () => {
  expect(withoutCredentials('"ws://joe:geheim@a:1,wss://geheim@b/" must not')).toBe(
    '"ws://…@a:1,wss://…@b/" must not',
  );
  expect(withoutCredentials("E=ws://a:1?key=geheim: no")).toBe("E=ws://a:1?… no");
  expect(withoutCredentials("ws://a:geheim@b@c:1/x")).toBe("ws://…@c:1/x");
  for (const text of ["ws://127.0.0.1:7411", "a@b: is it ws://h?", "file:///tmp/a@1/b.js:3:1"]) {
    expect(withoutCredentials(text)).toBe(text);
  }
});

test("no access token is shown, wherever it stands", () => {
  const secret = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(accessTokenOf);
  fc.assert(
    fc.property(secret, fc.string(), fc.string(), (token, before, after) => {
      const shown = withoutCredentials(`${before}${token}${after}`);
      expect(shown).not.toContain(token.slice(3));
      expect(withoutCredentials(`'--token=${token}' is wrong`)).toBe("'--token=hf_…' is wrong");
    }),
  );
  for (const text of ["hf_models/downloads", "a key hf_1 of hf_2"]) {
    expect(withoutCredentials(text)).toBe(text);
  }
});

test("a graph keeps its lines and names such characters as entities", () => {
  expect(dotText('n1 [label="a\u202eb"];\n')).toBe('n1 [label="a&#8238;b"];\n');
});
