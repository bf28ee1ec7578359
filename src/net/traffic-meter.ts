/**
 * Counts the frames and bytes of one port's sockets, with two additions per frame and nothing else.
 */
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
