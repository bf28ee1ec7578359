import { afterEach, expect, test, vi } from "vitest";
import { launchChromium } from "../../../bench/workloads/page/metered-tab.js";
import { findChromium } from "../../../lab/find-chromium.js";

afterEach(() => {
  vi.unstubAllEnvs();
});

test("without a browser nothing is measured, and its package is named", async () => {
  vi.stubEnv("PATH", "");
  expect(findChromium()).toBeUndefined();
  await expect(launchChromium()).rejects.toThrow("install the Debian package chromium");
});
