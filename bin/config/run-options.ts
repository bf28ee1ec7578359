/**
 * The options of `holdfast run`. What describes one request (its mode, its permits, what is shown
 * beside it) is said where it is made; how runs behave may be set for many of them.
 */
import { EXIT } from "../output/exit-codes.js";
import { option, optionWithDefault, switchOption } from "./option-definition.js";
import {
  durationKind,
  shellLineKind,
  textKind,
  waitKind,
  wholeNumberKind,
} from "./option-kinds.js";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** The cluster counts such times in 32 bits of milliseconds. */
const LONG_MS_MAX = 49 * DAY_MS;

export const RUN_OPTIONS = {
  wait: optionWithDefault<number | false>(
    waitKind(LONG_MS_MAX),
    "give up after this time, the search for a node included",
    Number.POSITIVE_INFINITY,
    {
      short: "w",
      defaultText: "wait for ever",
      negation: {
        flags: "-n, --no-wait",
        description: "give up at once if another holds the lock, or no node is there",
      },
    },
  ),
  shared: switchOption("share the lock with other shared holders", {
    short: "s",
    reach: "flag",
  }),
  permits: option(
    wholeNumberKind(1, 1_024),
    "take so many permits of a semaphore instead of a lock, of each key",
    { reach: "flag", defaultText: "1 with --limit" },
  ),
  limit: option(
    wholeNumberKind(1, 1_000_000),
    "how many permits the semaphore has; needed while nobody uses it",
    { reach: "flag" },
  ),
  priority: option(wholeNumberKind(0, 60), "a head start of so many seconds in the queue", {
    reach: "flag",
    defaultText: "0",
  }),
  value: option(textKind("text"), "what others see beside the lock, up to 1 KiB", {
    reach: "flag",
  }),
  ttl: optionWithDefault(
    durationKind(SECOND_MS, 10 * MINUTE_MS),
    "how long the lock outlives a run that stopped answering",
    15 * SECOND_MS,
  ),
  maxHold: option(
    durationKind(SECOND_MS, LONG_MS_MAX),
    "hold the lock no longer than this: the command is ended in time",
  ),
  minHold: option(
    durationKind(0, LONG_MS_MAX),
    "keep others out at least so long after the grant, however soon the command ends",
  ),
  lockDelay: option(
    durationKind(0, MINUTE_MS),
    "keep others out so long if the lock ends otherwise than by release",
  ),
  killGrace: optionWithDefault(
    durationKind(0, 10 * MINUTE_MS),
    "time between SIGTERM and SIGKILL when the lock is lost",
    5 * SECOND_MS,
  ),
  conflictExitCode: optionWithDefault<number>(
    wholeNumberKind(0, 255),
    "exit code if another holds the lock (with -n)",
    EXIT.held,
    { short: "E" },
  ),
  quiet: switchOption("say nothing that the exit code says as well", { short: "q" }),
  command: option(shellLineKind, "run a line with /bin/sh", { short: "c", reach: "flag" }),
};
