/**
 * The declaration of an acquire with items and options that are read and written by what the schema
 * says of their values: what the hand-written reading and writing of them is held against.
 */
import { type FieldKind, items, options } from "../../src/protocol/codec/kinds.js";
import type { RequestReader } from "../../src/protocol/codec/request-reader.js";
import { ITEM_KINDS, OPTION_KINDS, type RequestSchema } from "../../src/protocol/codec/schema.js";
import { schemaOf } from "../../src/protocol/codec/schema-codec.js";
import {
  ACQUIRE_DEFAULTS,
  ACQUIRE_OPTION,
  type AcquireTerms,
  CLAIM_MODES,
  ITEMS_MAX,
  type Item,
  OP,
  PERMITS_MAX,
  type Writer,
} from "../../src/protocol/index.js";

function readItem(reader: RequestReader): Item {
  const start = reader.at;
  const arity = reader.arrayHeader();
  if (arity !== 2 && arity !== 4) reader.fail("an item has two or four values", start);
  const key = ITEM_KINDS.key.read(reader, "key");
  const number = reader.uint();
  const mode = CLAIM_MODES[number];
  if (mode === undefined) reader.refuse(`unknown mode ${number}`);
  if (arity === 2) {
    if (mode === "permits") reader.refuse("no permits");
    return { key, mode: mode === "shared" ? "shared" : "exclusive" };
  }
  if (mode !== "permits") reader.refuse("permits of a lock");
  const permits = ITEM_KINDS.permits.read(reader, "permits");
  const limit = ITEM_KINDS.limit.read(reader, "limit");
  if (limit !== undefined && permits > limit) reader.refuse(`${permits} permits of ${limit}`);
  return { key, mode: "permits", permits, limit };
}

const bySchema = {
  items: {
    ...items,
    read(reader: RequestReader): readonly Item[] {
      const count = reader.arrayHeader();
      if (count === 0) reader.refuse("no items");
      if (count > ITEMS_MAX) reader.refuse(`${count} items, at most ${ITEMS_MAX}`);
      const all: Item[] = [];
      for (let i = 0; i < count; i++) {
        const item = readItem(reader);
        if (i >= ITEMS_MAX) continue;
        if (all.some(({ key }) => key === item.key)) reader.refuse("a key occurs twice");
        all.push(item);
      }
      const permits = all.reduce(
        (sum, item) => sum + (item.mode === "permits" ? item.permits : 0),
        0,
      );
      if (permits > PERMITS_MAX) reader.refuse(`${permits} permits, at most ${PERMITS_MAX}`);
      return all;
    },
    write(writer: Writer, all: readonly Item[]): void {
      writer.arrayHeader(all.length);
      for (const item of all) {
        writer.arrayHeader(item.mode === "permits" ? 4 : 2);
        ITEM_KINDS.key.write(writer, item.key);
        writer.uint(CLAIM_MODES.indexOf(item.mode));
        if (item.mode !== "permits") continue;
        ITEM_KINDS.permits.write(writer, item.permits);
        ITEM_KINDS.limit.write(writer, item.limit);
      }
    },
  },
  options: {
    ...options,
    read(reader: RequestReader): AcquireTerms | undefined {
      const all: Record<string, unknown> = { ...ACQUIRE_DEFAULTS };
      const count = reader.mapHeader();
      let number = -1;
      for (let i = 0; i < count; i++) {
        number = reader.ascendingKey(number);
        const option = OPTIONS.find((one) => one.number === number);
        if (option === undefined) {
          reader.skip(2);
          reader.refuse(`unknown option ${number}`);
          continue;
        }
        const value = option.kind.read(reader, option.name);
        if (value === option.default) reader.refuse(`${option.name} is given its default`);
        all[option.name] = value;
      }
      return count === 0 ? undefined : (all as unknown as AcquireTerms);
    },
    write(writer: Writer, all: AcquireTerms | undefined): void {
      const said = OPTIONS.filter(
        (option) => (all ?? ACQUIRE_DEFAULTS)[option.name] !== option.default,
      );
      writer.mapHeader(said.length);
      for (const option of said) {
        writer.uint(option.number);
        option.kind.write(writer, all?.[option.name]);
      }
    },
  },
};

interface Option {
  readonly name: keyof AcquireTerms;
  readonly number: number;
  readonly kind: FieldKind<unknown>;
  readonly default: unknown;
}
const OPTIONS = Object.entries(OPTION_KINDS).map(([option, { kind }]): Option => {
  const name = option as keyof AcquireTerms;
  return { name, number: ACQUIRE_OPTION[name], kind, default: ACQUIRE_DEFAULTS[name] };
});

const declared = schemaOf(OP.acquire);
export const ACQUIRE_BY_SCHEMA: RequestSchema = {
  ...declared,
  fields: declared.fields.map((field) => {
    if (field.name !== "items" && field.name !== "options") return field;
    return { ...field, ...(bySchema[field.name] as FieldKind<unknown>) };
  }),
};
