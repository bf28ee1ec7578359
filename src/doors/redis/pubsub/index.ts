/**
 * Channels of Redis: who listens on this node, and what is published to them. A listener must never
 * hear of what its identity may not observe.
 */
export { Publisher } from "./publisher.js";
export { type SubscriptionKind, type SubscriptionSource, Subscriptions } from "./subscriptions.js";
