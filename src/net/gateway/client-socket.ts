/** What the gateway needs of the socket under a client's connection. Types only. */
import type { ClosableSocket } from "../close-socket.js";

export interface ClientSocket extends ClosableSocket {
  /** As `ClientConnection` has them. */
  readonly certifiedName: string | undefined;
  readonly isEncrypted: boolean;
  readonly isLocal: boolean;
  /** Bytes that were sent and are not taken yet. */
  readonly bufferedAmount: number;
  /** Sends one frame, as `sendWhole` in `whole-frame.ts` does. `done` is always called. */
  sendWhole(payload: Uint8Array, done: () => void): void;
  pause(): void;
  resume(): void;
  ping(): void;
  pong(data: Buffer): void;
}
