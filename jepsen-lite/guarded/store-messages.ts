/** Requests and answers of the guarded store: one JSON array a line, over TCP. */
export type StoreRequest =
  | readonly [id: number, op: "read", key: string]
  /** `token` 0: it is not compared. */
  | readonly [id: number, op: "write", key: string, value: number, token: number];

/** The value that was read, or whether it was written. */
export type StoreAnswer = readonly [id: number, result: number | boolean];
