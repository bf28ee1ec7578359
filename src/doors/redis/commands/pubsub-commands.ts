/** Subscribing to what the door publishes, and leaving it; see `subscriptions.ts`. */

import type { SubscriptionKind } from "../pubsub/index.js";
import { notSignedIn, RefusedCommand } from "../refusals.js";
import type { RespReply } from "../resp/index.js";
import type { DoorCommand } from "./command.js";

export const PUBSUB_COMMANDS: readonly DoorCommand[] = [
  subscribing("SUBSCRIBE", "channel"),
  subscribing("PSUBSCRIBE", "pattern"),
  leaving("UNSUBSCRIBE", "channel"),
  leaving("PUNSUBSCRIBE", "pattern"),
  {
    name: "PUBLISH",
    least: 2,
    most: 2,
    check() {
      throw new RefusedCommand("the door itself publishes the ends of locks, and nothing else");
    },
    run: () => 0,
  },
];

function subscribing(name: string, kind: SubscriptionKind): DoorCommand {
  return {
    name,
    least: 1,
    asksCluster: true,
    isForSubscribers: true,
    isNeverQueued: true,
    run(connection, names) {
      if (connection.isStranger) throw notSignedIn();
      return several(connection.subscriptions.subscribe(connection, kind, names));
    },
  };
}

function leaving(name: string, kind: SubscriptionKind): DoorCommand {
  return {
    name,
    least: 0,
    isForSubscribers: true,
    isNeverQueued: true,
    run: (connection, names) =>
      several(connection.subscriptions.unsubscribe(connection, kind, names)),
  };
}

/** One command has a reply for each of its channels. */
function several(replies: RespReply[]): RespReply {
  return { several: replies };
}
