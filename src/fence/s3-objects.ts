/**
 * Objects of S3, and of stores with the same protocol, over `fetch`. The caller does the signing:
 * it provides a `fetch` that signs (for example the client of `aws4fetch`), or uses a bucket that
 * needs none.
 */
import { HoldfastError } from "../errors/index.js";
import type { ObjectStore, StoredObject, WriteCondition } from "./fenced-object.js";

export interface ObjectRequest {
  readonly method: "GET" | "PUT";
  readonly headers: Record<string, string>;
  readonly body?: ArrayBuffer;
}

export interface ObjectResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  arrayBuffer(): Promise<ArrayBuffer>;
}

export type ObjectFetch = (url: string, request: ObjectRequest) => Promise<ObjectResponse>;

export interface S3ObjectsOptions {
  /** `https://BUCKET.s3.REGION.amazonaws.com`, `http://127.0.0.1:9000/BUCKET`. */
  readonly bucketUrl: string;
  /** Default: the global `fetch`, which does not sign. */
  readonly fetch?: ObjectFetch | undefined;
}

/** Whether the response says that the condition of a write did not hold. */
function isConditionFailure(status: number, condition: WriteCondition): boolean {
  // 409: another write was under way. 404: the object is gone; without an ETag the bucket is
  // missing.
  return status === 412 || status === 409 || (status === 404 && "ifMatch" in condition);
}

/** Calls reject with `FORBIDDEN`, or with `UNAVAILABLE` and `details.status`. */
export function s3Objects({ bucketUrl, fetch }: S3ObjectsOptions): ObjectStore {
  const send: ObjectFetch = fetch ?? ((url, request) => globalThis.fetch(url, request));
  const base = bucketUrl.replace(/\/+$/, "");
  const urlOf = (key: string): string =>
    `${base}/${key.split("/").map(encodeURIComponent).join("/")}`;
  return {
    async read(key: string): Promise<StoredObject | undefined> {
      const headers = { "cache-control": "no-cache" };
      const response = await send(urlOf(key), { method: "GET", headers });
      const body = new Uint8Array(await response.arrayBuffer());
      if (response.status === 404) return undefined;
      const etag = response.headers.get("etag");
      if (response.status !== 200 || etag === null) throw failed("GET", key, response.status);
      return { body, etag };
    },
    async write(key: string, body: Uint8Array, condition: WriteCondition): Promise<boolean> {
      const headers: Record<string, string> =
        "ifMatch" in condition
          ? { "if-match": condition.ifMatch }
          : { "if-none-match": condition.ifNoneMatch };
      // A buffer of its own: every `fetch` accepts one, and its type is the same in old compilers.
      const { buffer } = new Uint8Array(body);
      const response = await send(urlOf(key), { method: "PUT", headers, body: buffer });
      await response.arrayBuffer();
      if (isConditionFailure(response.status, condition)) return false;
      if (response.status !== 200) throw failed("PUT", key, response.status);
      return true;
    },
  };
}

function failed(method: string, key: string, status: number): HoldfastError {
  const code = status === 401 || status === 403 ? "FORBIDDEN" : "UNAVAILABLE";
  const what = `${method} of object ${JSON.stringify(key)} was answered with HTTP ${status}`;
  return new HoldfastError(code, what, { details: { status } });
}
