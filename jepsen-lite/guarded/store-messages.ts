/** Requests and answers of the guarded store: one JSON array per line, over TCP. */
export type StoreRequest =
  /** `token` 0: it is not compared. Otherwise no older token can write from here on. */
  | readonly [id: number, op: "read", key: string, token: number]
  | readonly [id: number, op: "write", key: string, value: number, token: number];

/** The value that was read, or whether it was written; `false`: refused because of the token. */
export type StoreAnswer = readonly [id: number, result: number | boolean];
