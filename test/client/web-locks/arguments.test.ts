/**
 * The rules for the arguments of `request`: W3C, "Web Locks API", section 3.2.1, and the
 * conversions of Web IDL.
 */
import { describe, expect, it } from "vitest";
import type { LockRequestOptions, RequestedLock } from "../../../src/client/index.js";
import { rejection } from "../world/set-up.js";
import { hold, openPage, requestWith, uncalled } from "./page.js";

describe("the arguments of request", () => {
  const notFunctions = [undefined, null, 123, "abc", [], {}, Promise.resolve()];

  it("need a name and a callback that is a function, else it rejects with a TypeError", async () => {
    const page = await openPage();
    await expect(requestWith(page)).rejects.toBeInstanceOf(TypeError);
    await expect(requestWith(page, "a")).rejects.toBeInstanceOf(TypeError);
    for (const callback of notFunctions) {
      await expect(requestWith(page, "a", callback)).rejects.toBeInstanceOf(TypeError);
      await expect(requestWith(page, "a", {}, callback)).rejects.toBeInstanceOf(TypeError);
    }
  });

  it("may have a name that is not a string, but none that is a symbol", async () => {
    const page = await openPage();
    const nameOf = (lock: RequestedLock | null): string | undefined => lock?.name;
    const names = [7, null, undefined, { toString: () => "text" }];
    for (const name of names) {
      expect(await page.world.until(requestWith(page, name, nameOf))).toBe(`${name}`);
    }
    await expect(requestWith(page, Symbol("a"), uncalled)).rejects.toBeInstanceOf(TypeError);
    const mistake = new Error("mistake");
    const throwing = {
      toString: () => {
        throw mistake;
      },
    };
    await expect(requestWith(page, throwing, uncalled)).rejects.toBe(mistake);
  });

  it("may have options that are nothing, and none that are not an object", async () => {
    const page = await openPage();
    const modeOf = (lock: RequestedLock | null): string | undefined => lock?.mode;
    for (const options of [undefined, null, {}, () => undefined, { mode: undefined, extra: 1 }]) {
      expect(await page.world.until(requestWith(page, "a", options, modeOf))).toBe("exclusive");
    }
    for (const options of [1, "shared", true, Symbol("o")]) {
      await expect(requestWith(page, "a", options, uncalled)).rejects.toBeInstanceOf(TypeError);
    }
  });

  it("have a mode that is exclusive or shared", async () => {
    const page = await openPage();
    const modeOf = (lock: RequestedLock | null): string | undefined => lock?.mode;
    for (const mode of ["exclusive", "shared", { toString: () => "shared" }]) {
      const asked = requestWith(page, "a", { mode }, modeOf);
      expect(await page.world.until(asked)).toBe(`${mode}`);
    }
    for (const mode of ["foo", null, "", "Shared", 0, Symbol("m")]) {
      await expect(requestWith(page, "a", { mode }, uncalled)).rejects.toBeInstanceOf(TypeError);
    }
  });

  it("have a callback that is called without a this", async () => {
    const page = await openPage();
    function receiver(this: unknown): unknown {
      return this;
    }
    expect(await page.world.until(requestWith(page, "a", receiver))).toBeUndefined();
    await hold(page, "a");
    const asked = requestWith(page, "a", { ifAvailable: true }, receiver);
    expect(await page.world.until(asked)).toBeUndefined();
  });

  it("have a signal that is an AbortSignal", async () => {
    const page = await openPage();
    for (const signal of ["s", 12.34, false, {}, Symbol("s"), () => {}, globalThis, null]) {
      await expect(requestWith(page, "a", { signal }, uncalled)).rejects.toBeInstanceOf(TypeError);
    }
    const asked = requestWith(page, "a", { signal: undefined }, () => "done");
    expect(await page.world.until(asked)).toBe("done");
  });

  it("take whatever is true for ifAvailable and steal", async () => {
    const page = await openPage();
    const { released } = await hold(page, "a");
    const asked = requestWith(page, "a", { ifAvailable: 1 }, (lock: unknown) => lock);
    expect(await page.world.until(asked)).toBeNull();
    await page.world.until(requestWith(page, "a", { steal: "yes" }, () => undefined));
    expect(await rejection(page.world, released)).toMatchObject({ name: "AbortError" });
  });

  it("are converted from left to right, and options by the names of their members", async () => {
    const page = await openPage();
    const seen: string[] = [];
    const note = (what: string, value: unknown) => {
      seen.push(what);
      return value;
    };
    const options = Object.defineProperties(
      {},
      Object.fromEntries(
        ["steal", "signal", "mode", "ifAvailable"].map((name) => [
          name,
          { get: () => note(name, undefined) },
        ]),
      ),
    );
    const name = { toString: () => note("name", "-a") };
    // The callback comes last of all, and before what the method itself checks.
    await expect(requestWith(page, name, options, 5)).rejects.toBeInstanceOf(TypeError);
    expect(seen).toEqual(["name", "ifAvailable", "mode", "signal", "steal"]);
  });

  it.each<[string, LockRequestOptions]>([
    ["steal with ifAvailable", { steal: true, ifAvailable: true }],
    ["steal of a shared lock", { steal: true, mode: "shared" }],
    ["a signal with steal", { steal: true, signal: new AbortController().signal }],
    ["a signal with ifAvailable", { ifAvailable: true, signal: new AbortController().signal }],
    ["an aborted signal with steal", { steal: true, signal: AbortSignal.abort() }],
    ["an aborted signal with ifAvailable", { ifAvailable: true, signal: AbortSignal.abort() }],
  ])("do not go together: %s", async (_what, options) => {
    const page = await openPage();
    const reason = await rejection(page.world, page.locks.request("a", options, uncalled));
    expect(reason).toBeInstanceOf(DOMException);
    expect(reason).toMatchObject({ name: "NotSupportedError" });
  });

  it("are refused for the name before they are for the options", async () => {
    const page = await openPage();
    const signal = AbortSignal.abort();
    const asked = page.locks.request("-a", { signal }, uncalled);
    expect(await rejection(page.world, asked)).toMatchObject({ name: "NotSupportedError" });
  });

  it("that are refused never reach the cluster", async () => {
    const page = await openPage();
    const before = page.server.applied.length;
    await requestWith(page, "-a", uncalled).catch(() => undefined);
    await requestWith(page, "a", { mode: "no" }, uncalled).catch(() => undefined);
    await requestWith(page, "a", { signal: AbortSignal.abort() }, uncalled).catch(() => undefined);
    await page.world.run(50);
    expect(page.server.applied.length).toBe(before);
  });
});

describe("a name", () => {
  it.each(["", "abc\u0000def", "\ud800", "\udc00", "\udc00\ud800", "\uffff", "~", "x-a", " \n"])(
    "may be %j",
    async (name) => {
      const page = await openPage();
      const asked = page.locks.request(name, (lock) => lock?.name);
      expect(await page.world.until(asked)).toBe(name);
      const { release } = await hold(page, name);
      expect((await page.world.until(page.locks.query())).held).toMatchObject([{ name }]);
      release();
    },
  );

  it("that is not valid Unicode is not mangled into another one", async () => {
    const page = await openPage();
    const nested = page.locks.request("\ud800", () => {
      return page.locks.request("\ufffd", (lock) => lock?.name);
    });
    expect(await page.world.until(nested)).toBe("\ufffd");
  });

  it.each(["-", "-foo"])("may not be %j", async (name) => {
    const page = await openPage();
    const reason = await rejection(page.world, page.locks.request(name, uncalled));
    expect(reason).toMatchObject({ name: "NotSupportedError" });
  });

  it("may be as long as a key allows, and no longer", async () => {
    const page = await openPage();
    const longest = "é".repeat(252);
    expect(await page.world.until(page.locks.request(longest, (lock) => lock?.name))).toBe(longest);
    const reason = await rejection(page.world, page.locks.request(`${longest}éé`, uncalled));
    expect(reason).toMatchObject({ name: "NotSupportedError" });
    expect((reason as Error).message).toContain("505 bytes");
  });

  it("is another than the key of the same text", async () => {
    const page = await openPage();
    await page.world.until(page.client.acquire("orders/1"));
    const asked = page.locks.request("orders/1", { ifAvailable: true }, (lock) => lock?.name);
    expect(await page.world.until(asked)).toBe("orders/1");
    expect((await page.world.until(page.locks.query())).held).toEqual([]);
  });
});
