/**
 * Lock clients of Redis from npm, as their users use them.
 *
 * `main.mjs steps CLIENT=ADDRESS …` takes the same steps with each client, and prints what each step came to.
 * `main.mjs fault CLIENT=ADDRESS,ADDRESS … …` takes a lock with each client, prints "holding", waits for a line while
 * the test does something to the servers, and goes on. `main.mjs turns CLIENT=ADDRESS …` is for clients that end the
 * lock of anybody, `main.mjs refused CLIENT=ADDRESS …` prints how each client is refused. Whatever a client does not
 * promise ends the program. Several modes, each before its clients, are gone through in turn.
 */
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { CLIENTS } from "./clients.mjs";

/** Long enough for all that is done while such a lock is held. */
const LONG_MS = 60_000;
/** Locks that nobody releases have it. */
const BRIEF_MS = 1_000;
/** So long somebody tries again. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 50;

function say(client, what, outcome) {
  console.log(`${client}: ${what}: ${outcome}`);
}

/** Repeats a call until its outcome is known and wanted. */
async function inTheEnd(call, isWanted) {
  const deadlineMs = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      const outcome = await call();
      if (isWanted(outcome)) return outcome;
      if (performance.now() > deadlineMs) return false;
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
    }
    await delay(PAUSE_MS);
  }
}

async function steps(client, user) {
  const [alice, bob, carol] = [await user(LONG_MS), await user(LONG_MS), await user(BRIEF_MS)];
  say(client, "alice takes", await alice.take());
  say(client, "bob takes", await bob.take());
  say(client, "alice extends", await alice.extend());
  say(client, "alice releases", await alice.release());
  say(client, "bob takes", await bob.take());
  say(client, "alice releases", await alice.release());
  say(client, "carol takes", await carol.take());
  say(client, "bob releases", await bob.release());
  say(client, "carol takes, and never releases", await carol.take());
  say(client, "bob takes in the end", await inTheEnd(bob.take, (taken) => taken));
  say(client, "carol releases", await carol.release());
  say(client, "alice takes", await alice.take());
  say(client, "bob releases", await bob.release());
}

async function fault(users) {
  const known = (call) => inTheEnd(call, () => true);
  const held = [];
  for (const [client, user] of users) {
    const [alice, bob] = [await user(LONG_MS), await user(LONG_MS)];
    say(client, "alice takes", await known(alice.take));
    held.push([client, alice, bob]);
  }
  console.log("holding");
  await once(process.stdin, "data");
  for (const [client, alice, bob] of held) {
    say(client, "bob takes", await known(bob.take));
    say(client, "alice extends", await known(alice.extend));
    say(client, "alice releases", await known(alice.release));
    say(client, "bob takes", await known(bob.take));
    say(client, "bob releases", await known(bob.release));
  }
}

async function turns(client, user) {
  const [alice, bob] = [await user(LONG_MS), await user(LONG_MS)];
  say(client, "alice takes", await alice.take());
  say(client, "bob takes", await bob.take());
  say(client, "alice releases", await alice.release());
  say(client, "bob takes in the end", await inTheEnd(bob.take, (taken) => taken));
  say(client, "bob releases", await bob.release());
}

async function refused(client, user) {
  const attempt = async (what, call) => {
    try {
      say(client, what, await call());
    } catch (error) {
      if (!error.message.includes("NOHOLDFAST")) throw error;
      say(client, what, error.message);
    }
  };
  const [alice, bob] = [await user(BRIEF_MS), await user(BRIEF_MS)];
  await attempt("alice takes", alice.take);
  await attempt("alice releases", alice.release);
  await attempt("bob takes", bob.take);
}

const MODES = { steps, turns, refused };
let mode;
const users = [];
for (const word of process.argv.slice(2)) {
  const at = word.indexOf("=");
  if (at < 0) {
    mode = word;
    continue;
  }
  const [client, addresses] = [word.slice(0, at), word.slice(at + 1).split(",")];
  const user = (ttlMs) => CLIENTS[client](addresses, `client:${client}`, ttlMs);
  if (mode === "fault") users.push([client, user]);
  else await MODES[mode](client, user);
}
if (users.length > 0) await fault(users);
// Connections are open, and clients go on asking for locks.
process.exit();
