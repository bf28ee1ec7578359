/** Who hears which message, and how long a registry is watched for its listeners. */
import { expect, test } from "vitest";
import { SYSTEM_CLOCK } from "../../../../src/doors/clock.js";
import type { LockClient } from "../../../../src/doors/redis/index.js";
import { Publisher } from "../../../../src/doors/redis/pubsub/publisher.js";
import {
  type Subscriber,
  type SubscriptionKind,
  Subscriptions,
} from "../../../../src/doors/redis/pubsub/subscriptions.js";
import type { RespReply } from "../../../../src/doors/redis/resp/index.js";
import { MemoryLocks } from "../world/memory-locks.js";
import { turn } from "../world/one-connection.js";

/** A connection, as far as it listens. */
class Ear implements Subscriber {
  readonly protocol = 2;
  database = 0;
  held: { client: LockClient; identity: string };
  readonly heard: string[] = [];
  readonly subscriptions: Subscriptions;

  constructor(publisher: Publisher, identity: string, client = new MemoryLocks().client) {
    this.held = { client, identity };
    this.subscriptions = new Subscriptions({ push: (message) => this.#hear(message) }, publisher);
  }

  subscribe(...channels: string[]): void {
    this.#subscribe("channel", channels);
  }

  subscribePatterns(...patterns: string[]): void {
    this.#subscribe("pattern", patterns);
  }

  unsubscribe(...channels: string[]): void {
    this.subscriptions.unsubscribe(this, "channel", channels.map(bytesOf));
  }

  #subscribe(kind: SubscriptionKind, names: string[]): void {
    this.subscriptions.subscribe(this, kind, names.map(bytesOf));
  }

  #hear(message: RespReply): void {
    const { push } = message as { push: readonly Buffer[] };
    this.heard.push(push.slice(-2).map(String).join(" "));
  }
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

test("a message of a client reaches the listeners of its identity only", () => {
  const publisher = new Publisher(SYSTEM_CLOCK);
  const [alice, mallory] = [new Ear(publisher, "alice"), new Ear(publisher, "mallory")];
  alice.subscribe("unlock");
  mallory.subscribePatterns("*");
  publisher.publishRelease(alice, "unlock", "alice/secret");
  publisher.publishRelease(mallory, "unlock", "forged");
  expect(alice.heard).toEqual(["unlock alice/secret"]);
  expect(mallory.heard).toEqual(["unlock forged"]);
});

test("channels that begin with + are the node's own", () => {
  const publisher = new Publisher(SYSTEM_CLOCK);
  const [alice, bob] = [new Ear(publisher, "alice"), new Ear(publisher, "bob")];
  alice.subscribe("+switch-master");
  bob.subscribePatterns("*");
  publisher.publishRelease(alice, "+switch-master", "mymaster forged");
  publisher.publishRelease(alice, "+", "forged");
  publisher.announce("+switch-master", "mymaster told");
  expect(alice.heard).toEqual(["+switch-master mymaster told"]);
  expect(bob.heard).toEqual(["+switch-master mymaster told"]);
});

test("a message of more than 4 KiB, or at a channel of more than 1 KiB, is not sent", () => {
  const publisher = new Publisher(SYSTEM_CLOCK);
  const ear = new Ear(publisher, "anonymous");
  ear.subscribePatterns("*");
  publisher.publishRelease(ear, "c".repeat(1_025), "message");
  publisher.publishRelease(ear, "channel", "m".repeat(4_097));
  publisher.publishRelease(ear, "c".repeat(1_024), "m".repeat(4_096));
  expect(ear.heard).toHaveLength(1);
});

test("subscriptions of one connection are bounded, and patterns more than channels", () => {
  const ear = new Ear(new Publisher(SYSTEM_CLOCK), "anonymous");
  const names = (count: number, length: number): string[] =>
    Array.from({ length: count }, (_, i) => String(i).padStart(length, "x"));
  expect(() => ear.subscribe("c".repeat(1_025))).toThrow(/more than 1024 bytes/);
  expect(() => ear.subscribePatterns("c".repeat(1_025))).toThrow(/more than 1024 bytes/);
  expect(() => ear.subscribePatterns(...names(33, 3))).toThrow(/32 patterns/);
  expect(() => ear.subscribePatterns(...names(5, 1_024))).toThrow(/4096 bytes/);
  expect(ear.subscriptions.patternCount).toBe(0);
  ear.subscribePatterns(...names(4, 1_024));
  expect(() => ear.subscribePatterns("*")).toThrow(/4096 bytes/);
  ear.subscriptions.unsubscribe(ear, "pattern", []);
  ear.subscribePatterns(...names(32, 128));
  ear.subscribe(...names(224, 3));
  expect(() => ear.subscribe("one more")).toThrow(/256 subscriptions/);
});

/** Ears at the same registry, each by a client of its own. */
function registry(count: number) {
  const locks = new MemoryLocks();
  const publisher = new Publisher(SYSTEM_CLOCK);
  const clients = Array.from({ length: count }, () => locks.newClient());
  const ears = clients.map(({ client }) => new Ear(publisher, "anonymous", client));
  for (const ear of ears) ear.subscribe("reg-channel");
  const end = async (name: string): Promise<void> => {
    const key = `~redis/0/reg:${name}`;
    await locks.client.leases.take(key, { owner: "o", ttlMs: 1_000, waitMs: 0 });
    await locks.client.leases.giveBack(key, { owner: "o" });
    for (let i = 0; i < 10; i++) await turn();
  };
  return { locks, publisher, clients, ears, end };
}

test("a registry is watched on when its first listener leaves and its client is closed", async () => {
  const { locks, clients, ears, end } = registry(2);
  await end("one");
  ears[0]?.subscriptions.clear();
  await turn();
  clients[0]?.close();
  await end("two");
  await end("three");
  expect(ears[0]?.heard).toEqual(["reg-channel reg:one"]);
  expect(ears[1]?.heard).toEqual([
    "reg-channel reg:one",
    "reg-channel reg:two",
    "reg-channel reg:three",
  ]);
  expect(locks.watched).toEqual(["~redis/0/reg:"]);
});

test("a registry is watched by no more than one client, and by none after its last listener", async () => {
  const { locks, publisher, ears } = registry(3);
  expect([locks.watched.length, publisher.watchCount]).toEqual([1, 1]);
  ears[0]?.unsubscribe("reg-channel");
  ears[1]?.unsubscribe("reg-channel");
  for (let i = 0; i < 10; i++) await turn();
  expect([locks.watched.length, publisher.watchCount]).toEqual([1, 1]);
  ears[2]?.subscribe("other");
  ears[2]?.unsubscribe("reg-channel");
  for (let i = 0; i < 10; i++) await turn();
  expect([locks.watched.length, publisher.watchCount]).toEqual([0, 0]);
});

test("one connection watches no more than 16 registries, now or over time", () => {
  const publisher = new Publisher(SYSTEM_CLOCK);
  const ear = new Ear(publisher, "anonymous");
  ear.subscribe("keep");
  for (let i = 0; i < 2_000; i++) {
    ear.subscribe(`r${i}-channel`);
    ear.unsubscribe(`r${i}-channel`);
  }
  expect(publisher.watchCount).toBe(0);
  for (let i = 0; i < 100; i++) ear.subscribe(`r${i}-channel`);
  expect(publisher.watchCount).toBe(16);
  const other = new Ear(publisher, "anonymous");
  other.subscribe("spring-channel");
  expect(publisher.watchCount).toBe(17);
});

test("a watch and what a script says are not told twice, and neither hides the other", async () => {
  const { publisher, ears, end } = registry(1);
  const [ear] = ears as [Ear];
  const byPattern = new Ear(publisher, "anonymous");
  byPattern.subscribePatterns("reg-*");
  const other = new Ear(publisher, "mallory");
  other.subscribe("reg-channel");
  publisher.publishRelease(ear, "reg-channel", "reg:one");
  await end("one");
  publisher.publishRelease(ear, "reg-channel", "elsewhere");
  expect(ear.heard).toEqual(["reg-channel reg:one", "reg-channel elsewhere"]);
  expect(byPattern.heard).toEqual(["reg-channel reg:one", "reg-channel elsewhere"]);
  expect(other.heard).toEqual([]);
});

test("a connection that signs in as another identity hears what that one may hear", () => {
  const publisher = new Publisher(SYSTEM_CLOCK);
  const [ear, alice] = [new Ear(publisher, "mallory"), new Ear(publisher, "alice")];
  ear.subscribe("unlock", "reg-channel");
  ear.held = { ...ear.held, identity: "alice" };
  ear.subscriptions.listenAs(ear);
  publisher.publishRelease(alice, "unlock", "one");
  publisher.publishRelease({ database: 0, held: { identity: "mallory" } }, "unlock", "two");
  expect(ear.heard).toEqual(["unlock one"]);
  expect(publisher.watchCount).toBe(1);
});
