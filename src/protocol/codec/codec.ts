/**
 * The words in which bytes are described. A codec says how the values of one type are written, and
 * reads them again; larger codecs are made of smaller ones, so that whatever is written is declared
 * once. Each kind of bytes has its own reader and writer, with the bounds that belong there:
 * requests (`kinds.ts`), messages of a node to clients (`message-schema.ts`), records of a snapshot,
 * and messages between nodes.
 */

export interface Codec<T, R, W> {
  /**
   * @param name what the value is called in the message of a refusal
   */
  read(from: R, name: string): T;
  write(to: W, value: T): void;
}

/** A codec for each field of `T`, in the order of the bytes. */
export type Fields<T, R, W> = { readonly [F in keyof T]-?: Codec<T[F], R, W> };

/** A field of any type, for code that treats all alike. */
export interface NamedCodec<R, W> {
  readonly name: string;
  readonly codec: Codec<unknown, R, W>;
}

export function namedCodecs<R, W>(fields: object): readonly NamedCodec<R, W>[] {
  const all = Object.entries<Codec<unknown, R, W>>(fields as Record<string, never>);
  return all.map(([name, codec]) => ({ name, codec }));
}
