/** Which nodes a client uses when its program names none, and what it says when none serves. */
import { afterEach, expect, test, vi } from "vitest";
import { connect, connectAdmin, type HoldfastError } from "../../../src/index.js";

afterEach(() => {
  vi.unstubAllEnvs();
});

async function messageOf(connecting: Promise<unknown>): Promise<string> {
  return connecting.then(
    () => "connected",
    (error: HoldfastError) => error.message,
  );
}

test("HOLDFAST_ENDPOINTS is used, in every form in which people write endpoints", async () => {
  vi.stubEnv("HOLDFAST_ENDPOINTS", "http://127.0.0.1:9, 127.0.0.1:19,ws://[::1]:9");
  for (const message of [
    await messageOf(connect({ connectTimeoutMs: 300 })),
    await messageOf(connectAdmin({ timeoutMs: 300 })),
  ]) {
    expect(message).toContain("(tried ws://127.0.0.1:19, ws://127.0.0.1:9, ws://[::1]:9)");
    expect(message).not.toContain("holdfast cluster");
  }
  vi.stubEnv("HOLDFAST_ENDPOINTS", "ftp://a");
  await expect(connect()).rejects.toThrow(/"ftp:\/\/a" must begin with ws:\/\//);
});

test("or a cluster on this machine, and if there is none, how to start one", async () => {
  vi.stubEnv("HOLDFAST_ENDPOINTS", "");
  const signal = AbortSignal.timeout(20_000);
  const message = await messageOf(connect({ connectTimeoutMs: 300, signal }));
  // A developer may have one.
  if (message === "connected") return;
  expect(message).toContain("tried ws://127.0.0.1:7411, ws://127.0.0.1:7412, ws://127.0.0.1:7413");
  expect(message).toContain("`holdfast cluster`, or set HOLDFAST_ENDPOINTS");
});
