/** Changes of access for the cluster of a world, made by a client that has a session and may. */
import { createHash } from "node:crypto";
import { expect } from "vitest";
import {
  type AccessLevel,
  ANONYMOUS,
  OP,
  type SessionCommand,
  STATUS,
} from "../../../src/protocol/index.js";
import type { TestClient } from "./test-client.js";

/** A change of access without its place in the session. */
export type AccessOrder = (head: {
  readonly sequence: number;
  readonly mark: number;
  readonly acknowledged: readonly number[];
}) => SessionCommand;

export const putIdentity =
  (name: string): AccessOrder =>
  (head) => ({ op: OP.putIdentity, ...head, name });

export const putCertificate =
  (name: string, expiresWallMs = 0): AccessOrder =>
  (head) => {
    const what = { label: "certificate", kind: "certificate", digest: undefined } as const;
    return { op: OP.putCredential, ...head, name, ...what, expiresWallMs };
  };

export const putToken =
  (name: string, token: string): AccessOrder =>
  (head) => {
    const digest = createHash("sha256").update(token).digest("hex");
    const what = { label: "token", kind: "token", digest, expiresWallMs: 0 } as const;
    return { op: OP.putCredential, ...head, name, ...what };
  };

export const removeCredential =
  (name: string, label: string): AccessOrder =>
  (head) => ({ op: OP.removeCredential, ...head, name, label });

export const grant =
  (name: string, level: AccessLevel, prefix = ""): AccessOrder =>
  (head) => ({ op: OP.setGrant, ...head, name, key: prefix, isPrefix: true, level });

/** An admin with a certificate, and nothing for `anonymous`. */
export const CLOSED: readonly AccessOrder[] = [
  putIdentity("ops"),
  putCertificate("ops"),
  grant("ops", "admin"),
  grant(ANONYMOUS, "none"),
];

/** Sends them one after the other and expects that each is done. */
export async function order(client: TestClient, ...orders: readonly AccessOrder[]): Promise<void> {
  for (const one of orders) {
    client.lastSequence += 1;
    const sequence = client.lastSequence;
    client.send(one({ sequence, mark: sequence, acknowledged: [] }));
    expect((await client.untilReply(sequence)).result.status).toBe(STATUS.ok);
  }
}
