/** The shape that goes with each level of health. */
import type { Health } from "../../../src/views/index.js";
import type { BadgeKind } from "../../parts/badge.js";

export const LEVEL_BADGES: Readonly<Record<Health["level"], BadgeKind>> = {
  ...{ good: "good", asking: "busy", warning: "warning", bad: "bad", down: "bad" },
};
