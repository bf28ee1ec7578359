/**
 * Reads and writes any request as `schema.ts` declares it. Each field is read and checked against
 * those before it, and only then is the next one read, so that the first of several values that are
 * not allowed is reported.
 */
import { assert } from "../../errors/index.js";
import type { ClientRequest } from "../questions.js";
import type { RequestReader } from "./request-reader.js";
import { REQUEST_SCHEMAS, type RequestSchema } from "./schema.js";
import type { Writer } from "./writer.js";

const BY_OP = new Map(REQUEST_SCHEMAS.map((schema) => [schema.op, schema]));

/** Reads the values after the number of the operation. */
export function readFields(reader: RequestReader, { op, fields }: RequestSchema): ClientRequest {
  const request: Record<string, unknown> = { op };
  for (const field of fields) {
    const value = field.read(reader, field.name);
    request[field.name] = value;
    const reason = field.rule?.(value, request);
    if (reason !== undefined) reader.refuse(reason);
  }
  return request as unknown as ClientRequest;
}

export function writeFields(writer: Writer, schema: RequestSchema, request: ClientRequest): void {
  const values = request as unknown as Readonly<Record<string, unknown>>;
  writer.arrayHeader(schema.arity);
  writer.uint(schema.op);
  for (const field of schema.fields) field.write(writer, values[field.name]);
}

export function schemaOf(op: number): RequestSchema {
  const schema = BY_OP.get(op);
  assert(schema !== undefined, () => `operation ${op} is not declared`);
  return schema;
}
