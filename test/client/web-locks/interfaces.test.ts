/**
 * How `client.locks` and its locks look from outside: Web IDL, section 3.7, of the interfaces
 * `LockManager` and `Lock`. Polyfills, proxies and test suites look at this before they ask for
 * anything.
 */
import { expect, it } from "vitest";
import { hold, openPage, type Page, uncalled } from "./page.js";

interface Interfaces {
  readonly page: Page;
  readonly manager: object;
  readonly lock: object;
}

async function openInterfaces(): Promise<Interfaces> {
  const page = await openPage();
  const { lock } = await hold(page, "a");
  if (lock === null) throw new Error("a free lock was not granted");
  return { page, manager: page.locks, lock };
}

const prototypeOf = (value: object): object => Object.getPrototypeOf(value) as object;

it("they say what they are, by their class string and the name of their class", async () => {
  const { manager, lock } = await openInterfaces();
  expect(`${manager}`).toBe("[object LockManager]");
  expect(`${lock}`).toBe("[object Lock]");
  expect([manager.constructor.name, lock.constructor.name]).toEqual(["LockManager", "Lock"]);
});

it("nobody makes one of them: their constructors take nothing and throw", async () => {
  const { manager, lock } = await openInterfaces();
  for (const value of [manager, lock]) {
    const made = value.constructor as new (...parts: unknown[]) => object;
    expect(made.length).toBe(0);
    expect(() => new made()).toThrow(TypeError);
    expect(() => new made(Symbol("made by the client"), {}, {})).toThrow("Illegal constructor");
  }
});

it("members are the prototype's, can be enumerated, and objects have none of their own", async () => {
  const { manager, lock } = await openInterfaces();
  const members = (value: object): string[] => {
    expect(Object.getOwnPropertyNames(value)).toEqual([]);
    const seen: string[] = [];
    for (const name in value) seen.push(name);
    expect(Object.keys(prototypeOf(value))).toEqual(seen);
    return seen.sort();
  };
  expect(members(manager)).toEqual(["query", "request"]);
  // As the specification has them, and what a cluster adds.
  expect(members(lock)).toEqual(["mode", "name", "signal", "token"]);
});

it("request needs two arguments and query none, as their lengths say", async () => {
  const { page } = await openInterfaces();
  expect([page.locks.request.length, page.locks.query.length]).toEqual([2, 0]);
});

it("what a lock has cannot be changed, and is read of locks only", async () => {
  const { lock } = await openInterfaces();
  const writable = lock as { name: string };
  expect(() => {
    writable.name = "b";
  }).toThrow(TypeError);
  expect(writable.name).toBe("a");
  for (const name of ["name", "mode", "token", "signal"]) {
    const property = Object.getOwnPropertyDescriptor(prototypeOf(lock), name);
    expect(property?.set).toBeUndefined();
    expect(() => property?.get?.call({})).toThrow(TypeError);
  }
});

it("a method of anything else rejects with a TypeError, before it looks at arguments", async () => {
  const { page } = await openInterfaces();
  const { request, query } = page.locks;
  // With a manager it would be a NotSupportedError.
  const reserved = Reflect.apply(request, {}, ["-reserved", uncalled]) as Promise<unknown>;
  await expect(reserved).rejects.toBeInstanceOf(TypeError);
  await expect(query.call(undefined)).rejects.toBeInstanceOf(TypeError);
});

it("a client has one manager, no matter who asks how often", async () => {
  const { page } = await openInterfaces();
  expect(page.client.locks).toBe(page.client.locks);
});
