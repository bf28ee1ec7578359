/** Which pages may connect, by the origin that their browser states and the name it connected to. */
import { expect, test } from "vitest";
import { KnownHosts } from "../../../src/net/http/known-hosts.js";
import { PageOrigins } from "../../../src/net/http/page-origins.js";

const MEMBERS = (): string[] => ["https://10.0.0.2:7411"];

function origins(isEncrypted: boolean): PageOrigins {
  return new PageOrigins(
    ["http://ops.example"],
    new KnownHosts(["locks.example"]),
    MEMBERS,
    isEncrypted,
  );
}

test("a port in plain text takes its own pages by both schemes: a proxy before it may end TLS", () => {
  for (const origin of ["http://locks.example", "https://locks.example"])
    expect(origins(false).mayConnect(origin, "locks.example")).toBe(true);
});

test("a port with TLS takes no page that a browser got under its name in plain text", () => {
  const encrypted = origins(true);
  expect(encrypted.mayConnect("https://locks.example", "locks.example")).toBe(true);
  expect(encrypted.mayConnect("http://locks.example", "locks.example")).toBe(false);
  expect(encrypted.mayConnect("https://10.0.0.2:7411", "locks.example")).toBe(true);
  expect(encrypted.mayConnect("http://ops.example", "locks.example")).toBe(true);
});

test("neither another port of the same machine, nor what only resembles an origin, is its own", () => {
  const host = "127.0.0.1:7411";
  const strange = [
    ...["http://127.0.0.1:7412", "http://127.0.0.1", "http://localhost:7411", "null", ""],
    ...[`ftp://${host}`, `http://${host}/`, `http://user@${host}`, `http:${host}`, host],
    ...["file://", "chrome-extension://abcdef", "http://[::1]:7411", `http://${host}@evil.example`],
  ];
  for (const origin of strange) expect(origins(false).mayConnect(origin, host)).toBe(false);
  expect(origins(false).mayConnect(`http://${host}`, host)).toBe(true);
});

test("a name that an attacker can own is not the node's, although page and request agree on it", () => {
  for (const name of ["evil.example:7411", "127.0.0.1.evil.example", "localhost.evil.example"])
    expect(origins(false).mayConnect(`http://${name}`, name)).toBe(false);
  for (const host of [undefined, ""])
    expect(origins(false).mayConnect("http://", host)).toBe(false);
});

test("without the page of nodes only listed pages connect", () => {
  const bare = new PageOrigins(["http://ops.example"], new KnownHosts([]), undefined, false);
  expect(bare.mayConnect("http://127.0.0.1:7411", "127.0.0.1:7411")).toBe(false);
  expect(bare.mayConnect("http://ops.example", "127.0.0.1:7411")).toBe(true);
});
