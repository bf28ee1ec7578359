/**
 * The options of `holdfast run` and of `holdfast lease`. Those that describe one request (its mode,
 * its permits, its value) are flags of each call; those that say how requests behave may be
 * configured for many.
 */
import { EXIT } from "../exit/exit-codes.js";
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
    "give up after this time, including the search for a node",
    Number.POSITIVE_INFINITY,
    {
      short: "w",
      defaultText: "wait forever",
      negation: {
        flags: "-n, --no-wait",
        description: "give up at once if the lock is held, or no node can be reached",
      },
    },
  ),
  shared: switchOption("share the lock with other shared holders", {
    short: "s",
    reach: "flag",
  }),
  permits: option(
    wholeNumberKind(1, 1_024),
    "take this many permits of a semaphore, of each key, instead of a lock",
    { reach: "flag", defaultText: "1 with --limit" },
  ),
  limit: option(
    wholeNumberKind(1, 1_000_000),
    "number of permits of the semaphore; required while it is not in use",
    { reach: "flag" },
  ),
  priority: option(wholeNumberKind(0, 60), "a head start in the queue, in seconds", {
    reach: "flag",
    defaultText: "0",
  }),
  value: option(textKind("text"), "text that others see with the lock, up to 1 KiB", {
    reach: "flag",
  }),
  ttl: optionWithDefault(
    durationKind(SECOND_MS, 10 * MINUTE_MS),
    "how long the lock outlives a run that no longer answers",
    15 * SECOND_MS,
  ),
  maxHold: option(
    durationKind(SECOND_MS, LONG_MS_MAX),
    "hold the lock no longer than this; the command is ended in time",
  ),
  minHold: option(
    durationKind(0, LONG_MS_MAX),
    "cooldown: no one gets the lock until this long after the grant, even if the command ends sooner",
  ),
  lockDelay: option(
    durationKind(0, MINUTE_MS),
    "cooldown: no one gets the lock for this long if it ends otherwise than by release",
  ),
  killGrace: optionWithDefault(
    durationKind(0, 10 * MINUTE_MS),
    "time between SIGTERM and SIGKILL when the lock is lost",
    5 * SECOND_MS,
  ),
  conflictExitCode: optionWithDefault<number>(
    wholeNumberKind(0, 255),
    "exit code if the lock is held (with -n)",
    EXIT.held,
    { short: "E" },
  ),
  quiet: switchOption("do not report what the exit code says", { short: "q" }),
  command: option(shellLineKind, "run a line with /bin/sh", { short: "c", reach: "flag" }),
};

const { wait, shared, permits, limit, priority, value } = RUN_OPTIONS;

/** What the request for a lease has in common with a run. */
export const LEASE_OPTIONS = {
  wait,
  shared,
  permits,
  limit,
  priority,
  value,
  maxHold: {
    ...RUN_OPTIONS.maxHold,
    description: "end the lease at the latest after this time, however often it is extended",
  },
  minHold: {
    ...RUN_OPTIONS.minHold,
    description: "cooldown: no one gets the lock until this long after the grant",
  },
  lockDelay: RUN_OPTIONS.lockDelay,
  conflictExitCode: RUN_OPTIONS.conflictExitCode,
  leaseOwner: option(textKind("text"), "owner of the lease, as lease take printed it", {
    reach: "secret",
  }),
};
