/**
 * A process that wants a session which another one has: the one from which it was taken, or one more that
 * was started to take it. It asks once, over a connection of its own, and makes nothing of the answer:
 * whether it had to be refused the laws of locks know.
 */
import { type AttachCommand, encodeCommand } from "../../../src/protocol/index.js";
import type { ClientNetwork } from "../world/network/client-network.js";
import type { MessageLine } from "../world/network/message-line.js";

export function comeLate(
  network: ClientNetwork,
  host: number,
  node: number,
  command: AttachCommand,
): void {
  const bytes = encodeCommand(command);
  let hasSaid = false;
  const line: MessageLine = network.connect(node, {
    host,
    onOpen: () => line.say((events, connection) => events.onAttach(connection, command, bytes)),
    onFrame: () => {
      // The first frame greets, the second one answers.
      if (hasSaid) line.leave();
      hasSaid = true;
    },
    onClosed: () => {},
  });
}
