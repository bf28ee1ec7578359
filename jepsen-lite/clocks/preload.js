/**
 * Clocks of this process that run at another rate than those of the machine: the monotonic clock, the
 * time since the machine was started, and timers. The wall clock stays as it is. It is loaded into nodes
 * before their program (`node --import`), and into clients; it must be plain JavaScript, and knows
 * nothing of either.
 *
 * With HOLDFAST_JEPSEN_CLOCK it follows the rate in that file.
 */
import { readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";

const FOLLOW_MS = 50;

/** A clock whose rate can be changed, which never makes it jump. */
export function pacedClock(now) {
  let rate = 1;
  let shown = now();
  let since = shown;
  const show = () => shown + (now() - since) * rate;
  const setRate = (next) => {
    const trueNow = now();
    shown += (trueNow - since) * rate;
    since = trueNow;
    rate = next;
  };
  return { show, setRate };
}

/** Returns a function that sets the rate of all clocks: 0.9 makes them lose a tenth. */
export function paceClocks() {
  const { setTimeout: trueTimeout, setInterval: trueInterval } = globalThis;
  const monotonic = pacedClock(performance.now.bind(performance));
  const uptime = pacedClock(os.uptime);
  let rate = 1;
  const timed = (start) => {
    const paced = (callback, delayMs = 0, ...words) => start(callback, delayMs / rate, ...words);
    return Object.assign(paced, start);
  };
  performance.now = monotonic.show;
  os.uptime = uptime.show;
  syncBuiltinESMExports();
  globalThis.setTimeout = timed(trueTimeout);
  globalThis.setInterval = timed(trueInterval);
  return (next) => {
    monotonic.setRate(next);
    uptime.setRate(next);
    rate = next;
  };
}

/** A file that is being written is read again. */
function follow(file) {
  const { setInterval: trueInterval } = globalThis;
  const setRate = paceClocks();
  let last = 1;
  const look = () => {
    const next = Number(readFileSync(file, "utf8"));
    if (!(next > 0) || next === last) return;
    last = next;
    setRate(next);
  };
  look();
  trueInterval(look, FOLLOW_MS).unref();
}

const file = process.env.HOLDFAST_JEPSEN_CLOCK;
if (file !== undefined) follow(file);
