import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { createLogger } from "../../../bin/output/node-log.js";

function logged(format: "text" | "json", fields?: Record<string, unknown>): string {
  const stream = new PassThrough({ encoding: "utf8" });
  createLogger(format, stream, () => 0)("warn", "peer refused", fields);
  return stream.read();
}

test("text is one line, with values quoted that could break it", () => {
  expect(logged("text")).toBe("1970-01-01T00:00:00.000Z WARN  peer refused\n");
  expect(
    logged("text", { peer: 2, reason: 'no "x"\nline', empty: "", none: undefined, big: 5n }),
  ).toBe(
    '1970-01-01T00:00:00.000Z WARN  peer refused peer=2 reason="no \\"x\\"\\nline" empty="" big=5\n',
  );
});

test("JSON is one object a line, errors by their message", () => {
  const line = logged("json", { error: new Error("a\nb"), term: 7 });
  expect(line.endsWith("}\n")).toBe(true);
  expect(line.trimEnd()).not.toContain("\n");
  expect(JSON.parse(line)).toEqual({
    time: "1970-01-01T00:00:00.000Z",
    level: "warn",
    event: "peer refused",
    error: "a\nb",
    term: 7,
  });
});

test("no field of an event takes the place of what every JSON line has", () => {
  const line = logged("json", { level: "admin", time: 1, event: "other", key: "a" });
  expect(JSON.parse(line)).toEqual({
    time: "1970-01-01T00:00:00.000Z",
    level: "warn",
    event: "peer refused",
    "field.level": "admin",
    "field.time": 1,
    "field.event": "other",
    key: "a",
  });
});

test.each(["text", "json"] as const)(
  "what strangers say reaches a log of %s without a character that a terminal obeys",
  (format) => {
    const reason = 'pages of "http://a\u009b31m\u202e" may not connect';
    const line = logged(format, { reason, origin: "a\u009b31m\u202e" });
    expect(line.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    if (format === "json") expect(JSON.parse(line).reason).toBe(reason);
  },
);
