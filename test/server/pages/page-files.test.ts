/** What the policy of the page and its origins make of the endpoints that other nodes state. */
import { expect, test } from "vitest";
import { originsOf, type PageFiles, pageFileAt } from "../../../src/server/pages/page-files.js";

const FILES: PageFiles = new Map([
  ["index.html", { contentType: "text/html", plain: new Uint8Array(3), packed: new Uint8Array(2) }],
]);
const BROWSER = { wantsHtml: true, takesGzip: false, host: "10.0.0.1:7411" };
const STRANGE = [
  ...["no url", "", "//", "ws://", "ws://a b", "ws://10.0.0.9:99999", "javascript:alert(1)"],
  ...["http://10.0.0.9", "ws://10.0.0.9;script-src *", "ws://*", "ws://x'unsafe-inline'"],
];

test("an endpoint that no page could connect to fails nothing, and is left out", () => {
  const endpoints = [...STRANGE, "ws://10.0.0.2:7411", "wss://[fd00::1]:7411/x"].map(
    (endpoint, at) => ({ id: at + 1, endpoint }),
  );
  expect(originsOf(endpoints)).toEqual(["http://10.0.0.2:7411", "https://[fd00::1]:7411"]);
  const answer = pageFileAt(FILES, "/", BROWSER, endpoints, undefined);
  const policy = answer?.headers?.["Content-Security-Policy"] ?? "";
  expect(policy.split("; ").find((line) => line.startsWith("connect-src"))).toBe(
    "connect-src 'self' ws://10.0.0.1:7411 wss://10.0.0.1:7411 ws://10.0.0.2:7411 wss://[fd00::1]:7411",
  );
});
