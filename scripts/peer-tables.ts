/**
 * Makes the tables of docs/internals/peer-links.md that say what a message is made of, from the
 * layouts by which it is read and written.
 */

import { peerHello } from "../src/net/peers/hello.js";
import { BEFORE_HELLO, FRAME, FROM_DIALED, FROM_DIALER } from "../src/net/peers/link-frame.js";
import { PEER_MESSAGES } from "../src/net/peers/message-layout.js";
import type { PeerFields, PeerLayout, PeerListLayout } from "../src/net/peers/peer-fields.js";
import { grouped, tableOf } from "./page-tables.js";

/** By the names in their comments. */
export const PEER_TABLES = {
  frames: frameTable,
  hello: helloTable,
  messages: messageTable,
};

/** Each value is the name of its field. */
const NAMES = new Proxy({}, { get: (_, name) => name }) as never;

/** Notes the fields of a message in place of reading or writing them. */
class Description implements PeerFields {
  readonly sender = 0;
  readonly receiver = 0;
  readonly fields: (readonly [name: string, bytes: string])[] = [];

  uint16 = (name: number): number => this.#note(name, "u16");
  uint32 = (name: number): number => this.#note(name, "u32");
  uint64 = (name: number): number => this.#note(name, "u64");
  flag = (name: boolean): boolean => this.#note(name, "flag");
  hex = (name: string, bytes: number): string => this.#note(name, `${bytes} bytes`);
  block = (name: Uint8Array): Uint8Array => this.#note(name, "block");
  implied = (name: number): number => name;

  oneOf<T extends string>(name: T, names: readonly T[]): T {
    return this.#note(name, `u8 (${names.map((one, number) => `${number} ${one}`).join(", ")})`);
  }

  ascii(name: string, bytesMax: number): string {
    return this.#note(name, `text, at most ${grouped(bytesMax)} bytes`);
  }

  rest(name: Uint8Array, bytesMax?: number): Uint8Array {
    const most = bytesMax === undefined ? "" : `, at most ${grouped(bytesMax)} bytes`;
    return this.#note(name, `to the end${most}`);
  }

  restText(name: string, bytesMax: number): string {
    return this.#note(name, `UTF-8 to the end, at most ${grouped(bytesMax)} bytes`);
  }

  cutText(name: string, bytesMax: number): string {
    return this.#note(name, `UTF-8 to the end, cut to ${grouped(bytesMax)} bytes`);
  }

  list<T>(name: readonly T[], layout: PeerListLayout<T>): readonly T[] {
    const each = new Description();
    layout(each, NAMES, 0);
    return this.#note(name, `list of [${each.text}]`);
  }

  part<T>(_name: T, layout: PeerLayout<T>): T {
    return layout(this, NAMES);
  }

  demand(): void {}

  get text(): string {
    return this.fields.map((field) => field.join(" ")).join(", ");
  }

  #note<T>(name: T, bytes: string): T {
    this.fields.push([String(name), bytes]);
    return name;
  }
}

function described<T>(layout: PeerLayout<T>): Description {
  const description = new Description();
  layout(description, NAMES);
  return description;
}

/** The most bytes of each body, by who may send it when. */
function frameTable(): string {
  const rows = Object.entries(FRAME).map(([name, kind]) => {
    const most = [BEFORE_HELLO, FROM_DIALER, FROM_DIALED].map((limits) => {
      const bytes = limits[kind];
      return bytes === undefined ? "–" : grouped(bytes);
    });
    return [String(kind), `\`${name}\``, ...most];
  });
  const who = ["before its hello", "then, if it dialed", "then, if it was dialed"];
  return tableOf(["kind", "frame", ...who], rows);
}

function helloTable(): string {
  const rows = described(peerHello).fields.map(([name, bytes]) => [`\`${name}\``, bytes]);
  return tableOf(["field", "bytes"], rows);
}

function messageTable(): string {
  const rows = PEER_MESSAGES.map(({ name, kind, version, layout }) => {
    return [String(kind), `\`${name}\``, String(version), described(layout).text];
  });
  return tableOf(["kind", "message", "version", "body"], rows);
}
