/** Counts what goes over the sockets of one port: two additions a frame, nothing else. */
import type { Traffic } from "./types.js";

export class TrafficMeter implements Traffic {
  framesSent = 0;
  bytesSent = 0;
  framesReceived = 0;
  bytesReceived = 0;

  sent(bytes: number): void {
    this.framesSent += 1;
    this.bytesSent += bytes;
  }

  received(bytes: number): void {
    this.framesReceived += 1;
    this.bytesReceived += bytes;
  }
}
