/** Subscribing to what the door publishes, and leaving it; see `subscriptions.ts`. */

import type { SubscriptionKind } from "../pubsub/index.js";
import { notSignedIn, RefusedCommand } from "../refusals.js";
import type { Reply } from "../resp/index.js";
import type { Command } from "./command.js";

export const PUBSUB_COMMANDS: readonly Command[] = [
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

function subscribing(name: string, kind: SubscriptionKind): Command {
  return {
    name,
    least: 1,
    asksCluster: true,
    isForSubscribers: true,
    isNeverQueued: true,
    run(session, names) {
      if (session.isStranger) throw notSignedIn();
      return several(session.subscriptions.subscribe(session, kind, names));
    },
  };
}

function leaving(name: string, kind: SubscriptionKind): Command {
  return {
    name,
    least: 0,
    isForSubscribers: true,
    isNeverQueued: true,
    run: (session, names) => several(session.subscriptions.unsubscribe(session, kind, names)),
  };
}

/** One command has a reply for each of its channels. */
function several(replies: Reply[]): Reply {
  return { several: replies };
}
