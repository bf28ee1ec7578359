/**
 * Many watches of one node: how much of a turn they may take, and that none of them misses a
 * change.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import type { TableChange } from "../../../src/lockfsm/index.js";
import {
  type ChangesView,
  type ChangeView,
  END_REASON,
  MESSAGE,
  OP,
  REVISION_NUMBER_MAX,
  STATUS,
} from "../../../src/protocol/index.js";
import { Attachment } from "../../../src/server/commands/attachments.js";
import { NO_LIMITS, Usage } from "../../../src/server/limits/usage.js";
import { ChangeLog } from "../../../src/server/reads/change-log.js";
import { PAGE_CHANGES } from "../../../src/server/reads/change-page.js";
import { ServedWatches } from "../../../src/server/reads/served-watches.js";
import { RecordingConnection } from "../world/recording-connection.js";

/** Changes told to watches in one turn: what is asserted is that there is a bound, and which. */
const TOLD_PER_TURN_MAX = 20_000;

const GRANT: TableChange = {
  ...{
    type: "granted",
    key: "",
    mode: "exclusive",
    session: 1,
    sessionName: "",
    identity: "anonymous",
    task: 1,
  },
  ...{
    token: 1,
    sequence: 0,
    holder: "session",
    grantedAt: 1,
    requestedAt: 0,
    status: 0,
    waitedMs: 0,
    value: "",
  },
  ...{ reason: END_REASON.unknown, orderedBy: "" },
};

class Scene {
  /** Changes and messages told so far, all watches together. */
  told = 0;
  messages = 0;
  readonly log: ChangeLog;
  readonly watches: ServedWatches;
  readonly connections: RecordingConnection[] = [];
  #index = 1;
  #nowMs = 0;

  constructor(changesMax = 100_000, watchesMax = 100_000) {
    this.log = new ChangeLog({ changesMax, changeBytesMax: 1 << 30 }, 1);
    this.watches = new ServedWatches(this.log, { changesMax, watchesMax }, 1);
  }

  /** A connection of its own, with a watch of everything that begins so. */
  watch(prefix = ""): RecordingConnection {
    const connection = new RecordingConnection(this.connections.length + 1);
    const send = connection.send.bind(connection);
    connection.send = (message) => {
      this.messages += 1;
      if (message.kind === MESSAGE.changes && message.status === STATUS.ok) {
        this.told += (message.payload as ChangesView).changes.length;
      }
      send(message);
    };
    this.connections.push(connection);
    this.ask(new Attachment(connection), 1, prefix);
    return connection;
  }

  /** From the beginning of the log. */
  askOld(attachment: Attachment, id: number): void {
    const after = { index: 1, number: REVISION_NUMBER_MAX };
    this.watches.begin(attachment, { op: OP.watch, id, key: "", isPrefix: true, after });
  }

  ask(attachment: Attachment, id: number, key = ""): void {
    const after = { index: this.#index, number: REVISION_NUMBER_MAX };
    this.watches.begin(attachment, { op: OP.watch, id, key, isPrefix: true, after });
  }

  /** One entry with a change of each of these keys. */
  change(...keys: readonly string[]): void {
    this.#index += 1;
    this.log.begin(this.#index, this.#index, this.#index);
    for (const key of keys) this.log.add({ ...GRANT, key });
  }

  /** A turn of the loop. Returns how many changes it told, all watches together. */
  turn(): number {
    const before = this.told;
    this.#nowMs += 1;
    this.watches.serve(this.#index, this.#nowMs);
    return this.told - before;
  }

  /** Turns until nothing is left to do. Returns the most that one of them told. */
  settle(): number {
    let most = this.turn();
    while (this.watches.hasWork) most = Math.max(most, this.turn());
    return most;
  }
}

function changesTo({ sent }: RecordingConnection): readonly ChangeView[] {
  return sent.flatMap((message) =>
    message.kind === MESSAGE.changes && message.status === STATUS.ok
      ? (message.payload as ChangesView).changes
      : [],
  );
}

const keys = (count: number): string[] => Array.from({ length: count }, (_, i) => `k${i}`);

describe("a change that many watches get", () => {
  test("is made a message once, in whichever way they get it", () => {
    const scene = new Scene();
    const [first, ...others] = Array.from({ length: 1_000 }, (_, i) =>
      scene.watch("k".slice(i % 2)),
    );
    scene.settle();
    scene.change("k1", "k2");
    scene.turn();
    const views = changesTo(first as RecordingConnection);
    expect(views.map(({ key }) => key)).toEqual(["k1", "k2"]);
    for (const other of others) {
      const told = changesTo(other);
      expect(told).toHaveLength(2);
      for (const [i, view] of told.entries()) expect(view).toBe(views[i]);
    }
    // Watches that begin after them are, too.
    const late = [scene.watch(), scene.watch()] as const;
    scene.change("k3");
    scene.settle();
    const [one, two] = late.map((connection) => changesTo(connection)[0]);
    expect(one).toBeDefined();
    expect(two).toBe(one);
  });
});

describe("more to report than a turn has time for", () => {
  test("is sent in bounded turns, to each watch once and in order", () => {
    const scene = new Scene();
    for (let i = 0; i < 2_000; i += 1) scene.watch();
    scene.settle();
    const changed = keys(50);
    scene.change(...changed.slice(0, 30));
    scene.change(...changed.slice(30));
    expect(scene.settle()).toBeLessThan(TOLD_PER_TURN_MAX);
    for (const connection of scene.connections) {
      expect(changesTo(connection).map(({ key }) => key)).toEqual(changed);
    }
    // And all of them get what comes next in the turn in which it comes.
    scene.change("next");
    expect(scene.turn()).toBe(2_000);
  });

  test("does not keep a watch of little waiting", () => {
    const scene = new Scene();
    const quiet = scene.watch("quiet");
    for (let i = 0; i < 2_000; i += 1) scene.watch();
    scene.settle();
    for (let round = 0; round < 40; round += 1) {
      scene.change(...keys(49), `quiet/${round}`);
      scene.turn();
      expect(changesTo(quiet)).toHaveLength(round + 1);
    }
    // The others have far more to get than there was time for.
    expect(changesTo(scene.connections[5] as RecordingConnection).length).toBeLessThan(1_000);
    scene.settle();
    expect(changesTo(quiet)).toHaveLength(40);
    expect(changesTo(scene.connections[5] as RecordingConnection)).toHaveLength(40 * 50);
  });

  test("is given up for watches that fall behind what is kept, and for no others", () => {
    const scene = new Scene(PAGE_CHANGES);
    const quiet = scene.watch("quiet");
    for (let i = 0; i < 2_000; i += 1) scene.watch();
    scene.settle();
    for (let round = 0; round < 100; round += 1) {
      scene.change(...keys(99), "quiet");
      scene.turn();
    }
    scene.settle();
    expect(changesTo(quiet)).toHaveLength(100);
    const ended = scene.connections.filter(({ sent }) => {
      const last = sent.at(-1);
      return last?.kind === MESSAGE.changes && last.status === ERROR_NUMBERS.COMPACTED;
    });
    expect(ended.length).toBeGreaterThan(1_900);
    expect(scene.watches.compactedTotal).toBe(ended.length);
    expect(scene.watches.count).toBe(2_001 - ended.length);
  });

  test("goes for news of how far everything was sent, too", () => {
    const scene = new Scene(4 * PAGE_CHANGES);
    for (let i = 0; i < 5_000; i += 1) scene.watch("nothing");
    scene.settle();
    // A watch that has begun was notified, which will do until the next time.
    scene.change(...keys(PAGE_CHANGES));
    scene.settle();
    const before = scene.messages;
    scene.change(...keys(PAGE_CHANGES));
    let most = 0;
    do {
      const at = scene.messages;
      scene.turn();
      most = Math.max(most, scene.messages - at);
    } while (scene.watches.hasWork);
    expect(scene.messages - before).toBe(5_000);
    expect(most).toBeLessThan(2_000);
  });
});

test("those who catch up take turns, however many watches each of them has", () => {
  const scene = new Scene();
  for (let i = 0; i < 40; i += 1) scene.change(...keys(100));
  const asker = (name: string, id: number): Attachment => {
    const attachment = new Attachment(new RecordingConnection(id));
    attachment.share.identity = new Usage("identity", name, NO_LIMITS, 0);
    return attachment;
  };
  const [greedy, modest] = [asker("greedy", 1), asker("modest", 2)];
  for (let id = 1; id <= 200; id += 1) scene.askOld(greedy, id);
  scene.askOld(modest, 1);
  const modestly = modest.connection as RecordingConnection;
  let turns = 0;
  while (changesTo(modestly).length < 4_000) {
    scene.turn();
    turns += 1;
    expect(turns).toBeLessThan(100);
  }
  // It gets at most one message in a turn.
  expect(turns).toBeLessThan(40);
  expect(changesTo(greedy.connection as RecordingConnection).length).toBeGreaterThan(4_000);
  scene.settle();
  expect(changesTo(greedy.connection as RecordingConnection)).toHaveLength(800_000);
});

test("a node has a fixed number of watches and no more, over all connections", () => {
  const scene = new Scene(1_000, 3);
  const attachments = [1, 2].map((id) => new Attachment(new RecordingConnection(id)));
  const [one, two] = attachments as [Attachment, Attachment];
  for (const id of [1, 2]) for (const attachment of attachments) scene.ask(attachment, id);
  const answers = attachments.map(({ connection }) =>
    (connection as RecordingConnection).sent.map(
      (message) => "status" in message && message.status,
    ),
  );
  expect(answers).toEqual([
    [STATUS.ok, STATUS.ok],
    [STATUS.ok, ERROR_NUMBERS.QUOTA],
  ]);
  expect((two.connection as RecordingConnection).sent.at(-1)).toMatchObject({
    payload: { message: "this node has as many watches as its watchesMax allows (3)" },
  });
  expect([one.connection.watchCount, two.connection.watchCount]).toEqual([2, 1]);
  // A watch that ended, by whatever end, makes room.
  scene.watches.unwatch(one, { op: OP.unwatch, id: 9, watch: 1 });
  scene.ask(two, 3);
  scene.watches.drop(two);
  scene.ask(one, 4);
  scene.ask(one, 5);
  expect([one.connection.watchCount, two.connection.watchCount]).toEqual([3, 0]);
});
