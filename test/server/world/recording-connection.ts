/** A client connection that records what is sent to it. */
import type { ClientConnection } from "../../../src/net/index.js";
import type { ServerMessage } from "../../../src/protocol/index.js";

export class RecordingConnection implements ClientConnection {
  readonly id: number;
  session = 0;
  attachEpoch = 0;
  watchCount = 0;
  readonly certifiedName = undefined;
  readonly isEncrypted = false;
  readonly isLocal = false;
  readonly address: string;
  limitedIdentity = "";
  identity: string | undefined = undefined;
  attachment: unknown = undefined;
  isPaused = false;
  bufferedBytes = 0;
  readonly sent: ServerMessage[] = [];
  closedWith: { readonly code: number; readonly reason: string } | undefined;

  constructor(id: number, address = "") {
    this.id = id;
    this.address = address;
  }

  identify(identity: string | undefined): void {
    this.identity = identity;
  }

  send(message: ServerMessage): void {
    this.sent.push(message);
  }

  close(code: number, reason: string): void {
    this.closedWith = { code, reason };
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }
}
