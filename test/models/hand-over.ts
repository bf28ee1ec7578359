/**
 * A model of the hand-over of a client (docs/internals/semantics.md, 8): A holds two locks and hands them over; B
 * and C have its data and adopt; somebody waits for both locks. Connections break, answers are lost, processes die,
 * leases and times of bearers run out, an operator orders the end of A's session; each at any moment. Small enough to
 * be explored to the end.
 *
 * It must stay a model of the rules: it knows nothing of the code, and the code nothing of it.
 */

const HOLDS = [0, 1] as const;
type HoldAt = (typeof HOLDS)[number];
const ADOPTERS = ["B", "C"] as const;
type Adopter = (typeof ADOPTERS)[number];
type Both<T> = readonly [T, T];

/** What the table has of one hold. */
interface Hold {
  /** `waiter`: it ended, and who waited for the lock has it now. */
  readonly holder: "A" | "bearer" | Adopter | "waiter";
  /** What the table remembers of its bearer. */
  readonly memory: "nothing" | "moved" | "expired";
  /** An operator has ordered the end of the session that had it, and it is to end with that. */
  readonly endsAtDeadline: boolean;
  /** The table knows so. */
  readonly isOrdered: boolean;
}

/** What became of A's call for one hold: `maybe` is the answer if the real one is lost for good. */
type CallState = "none" | "queued" | "sent" | "moved" | "maybe" | "failed";

interface Giver {
  readonly life: "up" | "ended" | "dead";
  readonly isConnected: boolean;
  /** Whose signals are not aborted. */
  readonly believes: Both<boolean>;
  readonly calls: Both<CallState>;
  /** Commands on their way, in order. */
  readonly inFlight: readonly HoldAt[];
  /** Executed, and the answer not heard. */
  readonly executed: Both<"no" | "moved" | "refused">;
  readonly hasClosed: boolean;
}

interface Heir {
  readonly life: "up" | "dead";
  /** The request for each hold; `asking`: the answer of the table is under way. */
  readonly asks: Both<"not yet" | "asking" | "got" | "gone" | "given up">;
  /** What the table answered and the process has not heard. */
  readonly answers: Both<"none" | "got" | "moved" | "expired">;
  readonly believes: Both<boolean>;
}

export interface State {
  readonly holds: Both<Hold>;
  readonly giver: Giver;
  readonly heirs: Readonly<Record<Adopter, Heir>>;
  readonly isSessionAlive: boolean;
  /** An operator has ordered the end of A's session. */
  readonly isEndOrdered: boolean;
  readonly isDeadlineOver: boolean;
  readonly left: Bounds;
  /** Found by a transition. */
  readonly wrong: string | undefined;
}

/** What may happen, besides that processes die and time passes. */
export interface Bounds {
  readonly breaks: number;
  /** An operator orders the end of A's session. */
  readonly isOrdering: boolean;
  /** The table forgets why a hold of a bearer ended. */
  readonly isForgetting: boolean;
}

/** The rules, each of which can be broken to see that the model notices. */
export interface Rules {
  /** 1.3: the signal is aborted before the command is first sent. */
  readonly abortsFirst: boolean;
  /** 8: a hold has a new token when it is handed over, and when it is adopted. */
  readonly renewsTokenAtHandOver: boolean;
  readonly renewsTokenAtAdopt: boolean;
  /** 6.2: a hold takes along the end that was ordered for its session. */
  readonly takesEndAlong: boolean;
  /** 8: only who has got the first hold goes on with the others. */
  readonly firstDecides: boolean;
  /** 8: what is not known counts as adopted by another. */
  readonly unknownIsMoved: boolean;
  /** 8: once it was sent, the caller gets the data. */
  readonly tellsOnceSent: boolean;
  /** 8: the session is closed only after the last answer. */
  readonly closesLast: boolean;
  /** 8: an adopted hold is nobody else's to adopt. */
  readonly isAdoptedOnce: boolean;
}

export const RULES: Rules = Object.freeze({
  abortsFirst: true,
  renewsTokenAtHandOver: true,
  renewsTokenAtAdopt: true,
  takesEndAlong: true,
  firstDecides: true,
  unknownIsMoved: true,
  tellsOnceSent: true,
  closesLast: true,
  isAdoptedOnce: true,
});

export function initialState(bounds: Bounds): State {
  const hold: Hold = {
    holder: "A",
    memory: "nothing",
    endsAtDeadline: false,
    isOrdered: false,
  };
  const heir: Heir = {
    life: "up",
    asks: ["not yet", "not yet"],
    answers: ["none", "none"],
    believes: [false, false],
  };
  return {
    holds: [hold, hold],
    giver: {
      life: "up",
      isConnected: true,
      believes: [true, true],
      calls: ["none", "none"],
      inFlight: [],
      executed: ["no", "no"],
      hasClosed: false,
    },
    heirs: { B: heir, C: heir },
    isSessionAlive: true,
    isEndOrdered: false,
    isDeadlineOver: false,
    left: bounds,
    wrong: undefined,
  };
}

/** Every state that may come next. */
export function successors(state: State, rules: Rules): State[] {
  return [
    ...beginning(state, rules),
    ...sending(state),
    ...executing(state, rules),
    ...hearing(state),
    ...breaking(state),
    ...resuming(state),
    ...lapsing(state, rules),
    ...dying(state),
    ...closing(state, rules),
    ...expiring(state),
    ...runningOut(state),
    ...ordering(state),
    ...forgetting(state),
    ...ADOPTERS.flatMap((who) => [
      ...asking(state, who, rules),
      ...adopting(state, who, rules),
      ...learning(state, who, rules),
      ...dyingHeir(state, who),
    ]),
  ];
}

/** What is wrong with a state, or `undefined`. Goes by what users were promised and told alone. */
export function violationIn(state: State): string | undefined {
  const { giver, heirs, holds, isDeadlineOver, wrong } = state;
  if (wrong !== undefined) return wrong;
  for (const at of HOLDS) {
    const { holder, endsAtDeadline } = holds[at];
    const believers = [giver, heirs.B, heirs.C].filter(({ believes }) => believes[at]).length;
    if (believers + (holder === "waiter" ? 1 : 0) > 1) return "two believe in one lock";
    const isTold = giver.calls[at] === "failed" || (giver.life === "ended" && !hasData(state));
    if (isTold && giver.executed[at] === "moved") return "data withheld, although it was executed";
    if (isDeadlineOver && endsAtDeadline && holder !== "waiter")
      return "an ordered end was outlived";
  }
  const isHeir = (who: Adopter): boolean => heirs[who].asks.includes("got");
  if (isHeir("B") && isHeir("C")) return "two share what one had";
  return undefined;
}

/** The caller of A has what lets others adopt. */
function hasData({ giver: { calls } }: State): boolean {
  const isSettled = calls.every(
    (call) => call === "moved" || call === "maybe" || call === "failed",
  );
  return isSettled && calls.some((call) => call !== "failed");
}

// --- A --------------------------------------------------------------------------------------

function beginning(state: State, rules: Rules): State[] {
  const { giver } = state;
  if (giver.life !== "up" || !giver.isConnected || giver.calls[0] !== "none") return [];
  const believes: Both<boolean> = rules.abortsFirst ? [false, false] : giver.believes;
  const calls: Both<CallState> = ["queued", "queued"];
  return [withGiver(state, { believes, calls })];
}

/** The oldest first. */
function sending(state: State): State[] {
  const { giver } = state;
  if (giver.life !== "up" || !giver.isConnected) return [];
  const at = HOLDS.find((each) => giver.calls[each] === "queued");
  if (at === undefined) return [];
  const calls = put(giver.calls, at, "sent" as CallState);
  return [withGiver(state, { calls, inFlight: [...giver.inFlight, at] })];
}

function executing(state: State, rules: Rules): State[] {
  const { giver, holds, isSessionAlive } = state;
  const [at, ...inFlight] = giver.inFlight;
  if (at === undefined || !isSessionAlive) return [];
  const hold = holds[at];
  const isHeld = hold.holder === "A";
  const executed = put(giver.executed, at, isHeld ? "moved" : "refused");
  const next = withGiver(state, { inFlight, executed });
  if (!isHeld) return [next];
  const isOrdered = rules.takesEndAlong && state.isEndOrdered;
  const moved = withHold(next, at, { holder: "bearer", isOrdered });
  return [rules.renewsTokenAtHandOver ? moved : { ...moved, wrong: "a token not larger" }];
}

function hearing(state: State): State[] {
  const { giver } = state;
  if (giver.life !== "up" || !giver.isConnected) return [];
  return HOLDS.flatMap((at) => {
    const fate = giver.executed[at];
    return giver.calls[at] === "sent" && fate !== "no" ? [told(state, at, fate)] : [];
  });
}

function told(state: State, at: HoldAt, fate: "moved" | "refused"): State {
  const calls = put(state.giver.calls, at, fate === "moved" ? "moved" : "failed");
  return withGiver(state, { calls, believes: put(state.giver.believes, at, false) });
}

/** What is under way may still be executed. */
function breaking(state: State): State[] {
  const { giver, left } = state;
  if (!giver.isConnected || giver.life !== "up" || left.breaks === 0) return [];
  const fewer = { ...state, left: { ...left, breaks: left.breaks - 1 } };
  return [withGiver(fewer, { isConnected: false })];
}

/** A recall shows the fate of each call; what was not executed never will be, and is sent again. */
function resuming(state: State): State[] {
  const { giver, isSessionAlive } = state;
  if (giver.isConnected || giver.life !== "up" || !isSessionAlive) return [];
  let resumed = withGiver(state, { isConnected: true, inFlight: [] });
  for (const at of HOLDS) {
    if (giver.calls[at] !== "sent") continue;
    const fate = giver.executed[at];
    if (fate === "no") {
      resumed = withGiver(resumed, { calls: put(resumed.giver.calls, at, "queued") });
    } else resumed = told(resumed, at, fate);
  }
  return [resumed];
}

/** Its lease is over by its own count, before it is in the table. The client ends. */
function lapsing(state: State, rules: Rules): State[] {
  const { giver } = state;
  if (giver.life !== "up") return [];
  const calls = giver.calls.map((call): CallState => {
    if (call === "sent") return rules.tellsOnceSent ? "maybe" : "failed";
    return call === "queued" || call === "none" ? "failed" : call;
  }) as unknown as Both<CallState>;
  return [withGiver(state, { life: "ended", believes: [false, false], calls })];
}

function dying(state: State): State[] {
  const { giver } = state;
  return giver.life === "up" ? [withGiver(state, { life: "dead", believes: [false, false] })] : [];
}

/** A close releases what the session has: it is weak, and passes what a node refuses for now. */
function closing(state: State, rules: Rules): State[] {
  const { giver, holds, isSessionAlive } = state;
  if (giver.life !== "up" || !giver.isConnected || giver.hasClosed || !isSessionAlive) return [];
  if (giver.calls[0] === "none") return [];
  const isOpen = giver.calls.some((call) => call === "queued" || call === "sent");
  if (rules.closesLast && isOpen) return [];
  const closed = endAll(withGiver(state, { hasClosed: true, inFlight: [] }), "A");
  const isLost = HOLDS.some((at) => holds[at].holder === "A" && giver.calls[at] !== "failed");
  return [
    { ...closed, isSessionAlive: false, wrong: isLost ? "closed before the moves" : state.wrong },
  ];
}

/** The lease of A is over in the table. */
function expiring(state: State): State[] {
  const { giver, isSessionAlive } = state;
  if (!isSessionAlive || giver.life === "up") return [];
  return [{ ...endAll(state, "A"), isSessionAlive: false }];
}

// --- the table ------------------------------------------------------------------------------

/** Nobody adopted it in time. */
function runningOut(state: State): State[] {
  return HOLDS.flatMap((at) => {
    if (state.holds[at].holder !== "bearer") return [];
    return [withHold(state, at, { holder: "waiter", memory: "expired" })];
  });
}

/**
 * First the order, then its deadline: by then all who learned of it have given up their locks, by
 * their own clocks.
 */
function ordering(state: State): State[] {
  if (!state.isEndOrdered) {
    if (!state.isSessionAlive || !state.left.isOrdering) return [];
    let ordered: State = { ...state, isEndOrdered: true };
    for (const at of HOLDS) {
      const isOfSession = state.holds[at].holder === "A";
      if (isOfSession) ordered = withHold(ordered, at, { endsAtDeadline: true, isOrdered: true });
    }
    return [ordered];
  }
  if (state.isDeadlineOver) return [];
  let over: State = { ...state, isDeadlineOver: true, isSessionAlive: false };
  for (const at of HOLDS) {
    const { holder, isOrdered } = state.holds[at];
    const isEnding = holder === "A" || (isOrdered && holder !== "waiter");
    if (isEnding) over = ended(over, at);
  }
  // Neither the old holder's commands nor its belief are left.
  return [withGiver(over, { believes: [false, false] })];
}

function forgetting(state: State): State[] {
  if (!state.left.isForgetting) return [];
  return HOLDS.flatMap((at) => {
    return state.holds[at].memory === "nothing" ? [] : [withHold(state, at, { memory: "nothing" })];
  });
}

// --- B and C --------------------------------------------------------------------------------

function asking(state: State, who: Adopter, rules: Rules): State[] {
  const heir = state.heirs[who];
  if (heir.life !== "up" || !hasData(state)) return [];
  return HOLDS.flatMap((at) => {
    if (heir.asks[at] !== "not yet") return [];
    const [first] = heir.asks;
    const isTurn = at === 0 || first === "got" || first === "gone";
    return isTurn || !rules.firstDecides
      ? [withHeir(state, who, { asks: put(heir.asks, at, "asking") })]
      : [];
  });
}

function adopting(state: State, who: Adopter, rules: Rules): State[] {
  const heir = state.heirs[who];
  return HOLDS.flatMap((at) => {
    if (heir.asks[at] !== "asking" || heir.answers[at] !== "none") return [];
    const { holder, memory } = state.holds[at];
    const isThere = holder === "bearer" || (!rules.isAdoptedOnce && memory === "moved");
    if (isThere && holder !== "waiter") {
      const got = withHeir(state, who, { answers: put(heir.answers, at, "got") });
      const moved = withHold(got, at, { holder: who, memory: "moved" });
      return [rules.renewsTokenAtAdopt ? moved : { ...moved, wrong: "a token not larger" }];
    }
    const isMoved = memory === "moved" || (memory === "nothing" && rules.unknownIsMoved);
    const answer = isMoved ? "moved" : "expired";
    return [withHeir(state, who, { answers: put(heir.answers, at, answer) })];
  });
}

function learning(state: State, who: Adopter, rules: Rules): State[] {
  const heir = state.heirs[who];
  if (heir.life !== "up") return [];
  return HOLDS.flatMap((at) => {
    const answer = heir.answers[at];
    if (heir.asks[at] !== "asking" || answer === "none") return [];
    if (answer === "got") {
      // It may have ended meanwhile, which its client finds out before it relies on it.
      const believes = put(heir.believes, at, state.holds[at].holder === who);
      return [withHeir(state, who, { asks: put(heir.asks, at, "got"), believes })];
    }
    if (answer === "moved" && rules.firstDecides) {
      const asks = heir.asks.map((one) => (one === "got" ? one : "given up"));
      return [withHeir(state, who, { asks: asks as unknown as Heir["asks"] })];
    }
    return [withHeir(state, who, { asks: put(heir.asks, at, "gone") })];
  });
}

/** With its session, which ends in the table when it believes in nothing any more. */
function dyingHeir(state: State, who: Adopter): State[] {
  if (state.heirs[who].life === "dead") return [];
  return [endAll(withHeir(state, who, { life: "dead", believes: [false, false] }), who)];
}

// --- changes --------------------------------------------------------------------------------

/** Its holder stopped believing in it before, by its own clock or because it asked for this. */
function ended(state: State, at: HoldAt): State {
  const { holder } = state.holds[at];
  const memory = holder === "bearer" ? "expired" : state.holds[at].memory;
  const next = withHold(state, at, { holder: "waiter", memory });
  if (holder !== "B" && holder !== "C") return next;
  return withHeir(next, holder, { believes: put(next.heirs[holder].believes, at, false) });
}

function endAll(state: State, holder: Hold["holder"]): State {
  let next = state;
  for (const at of HOLDS) if (next.holds[at].holder === holder) next = ended(next, at);
  return next;
}

function put<T>(both: Both<T>, at: HoldAt, value: T): Both<T> {
  return at === 0 ? [value, both[1]] : [both[0], value];
}

function withHold(state: State, at: HoldAt, change: Partial<Hold>): State {
  return { ...state, holds: put(state.holds, at, { ...state.holds[at], ...change }) };
}

function withGiver(state: State, change: Partial<Giver>): State {
  return { ...state, giver: { ...state.giver, ...change } };
}

function withHeir(state: State, who: Adopter, change: Partial<Heir>): State {
  return { ...state, heirs: { ...state.heirs, [who]: { ...state.heirs[who], ...change } } };
}
