/**
 * A model of program order (docs/internals/semantics.md, 2): one client, the nodes that it is attached to one after
 * the other, and the table. Copies of what a node admitted reach the table in any order and any number of times, for
 * ever; connections break at any moment; a node refuses what it likes. Small enough to be explored to the end.
 *
 * It must stay a model of the rules: it knows nothing of the code, and the code nothing of it.
 */

/** `cancel` is the weak call that gives up another one. */
export type Kind = "strong" | "weak" | "cancel";

type CallState =
  | { readonly is: "queued" }
  | { readonly is: "sent"; readonly number: number }
  /** Its caller was told that it was executed. */
  | { readonly is: "done" }
  /** Its caller was told that it was not, or left before it had a number. */
  | { readonly is: "notDone" };

interface Call {
  readonly kind: Kind;
  /** The call that a cancel gives up. */
  readonly target?: number;
  readonly isLeft: boolean;
  readonly state: CallState;
}

interface Numbered {
  readonly number: number;
  readonly call: number;
}

/** What the node of one epoch knows of the client's connection. */
interface Node {
  readonly expected: number;
  readonly isRefusing: boolean;
  readonly inbox: readonly Numbered[];
  /** Copies of these reach the table, or do not. */
  readonly admitted: readonly Numbered[];
}

type Message =
  | { readonly says: "reply"; readonly number: number }
  | { readonly says: "refused"; readonly number: number; readonly isFinal: boolean };

export interface State {
  readonly calls: readonly Call[];
  readonly client: {
    readonly epoch: number;
    readonly isConnected: boolean;
    readonly next: number;
    /** After a refusal strong calls wait, then one of them is tried. */
    readonly flow: "full" | "paused" | "trying";
  };
  /** By epoch. Nodes of older epochs go on with what they read. */
  readonly nodes: readonly Node[];
  /** To the client, over its current connection, in order. */
  readonly outbox: readonly Message[];
  /** The calls that were executed; the last one under the number of its position. */
  readonly executed: readonly number[];
  readonly breaksLeft: number;
  readonly refusalsLeft: number;
  readonly leavesLeft: number;
}

/** The rules, each of which can be broken to see that the model notices. */
export interface Rules {
  /** 2.1: only the number after the highest is executed. */
  readonly demandsNext: boolean;
  /** 2.1: only in the current epoch. */
  readonly demandsEpoch: boolean;
  /** 2.3: what was admitted is not refused any more. */
  readonly refusesAtAdmissionOnly: boolean;
  /** 2.4: after a refusal other numbers are dropped. */
  readonly dropsAfterRefusal: boolean;
  /** 2.2: numbers are taken back at a refusal. */
  readonly takesNumbersBack: boolean;
}

export const RULES: Rules = Object.freeze({
  demandsNext: true,
  demandsEpoch: true,
  refusesAtAdmissionOnly: true,
  dropsAfterRefusal: true,
  takesNumbersBack: true,
});

export interface Bounds {
  readonly breaks: number;
  readonly refusals: number;
  readonly leaves: number;
}

export function initialState(kinds: readonly Kind[], bounds: Bounds): State {
  return {
    calls: kinds.map((kind) => ({ kind, isLeft: false, state: { is: "queued" } })),
    client: { epoch: 0, isConnected: true, next: 1, flow: "full" },
    nodes: [{ expected: 1, isRefusing: false, inbox: [], admitted: [] }],
    outbox: [],
    executed: [],
    breaksLeft: bounds.breaks,
    refusalsLeft: bounds.refusals,
    leavesLeft: bounds.leaves,
  };
}

/** Every state that may come next. */
export function successors(state: State, rules: Rules): State[] {
  return [
    ...sending(state),
    ...leaving(state),
    ...breaking(state),
    ...resuming(state),
    ...hearing(state, rules),
    ...tryingAgain(state),
    ...reading(state, rules),
    ...refusingLate(state, rules),
    ...executing(state, rules),
  ];
}

/** What is wrong with a state, or `undefined`. Goes by what callers were promised and told alone. */
export function violationIn({ calls, executed }: State): string | undefined {
  const positions = calls.map((_, call) => executed.indexOf(call));
  if (new Set(executed).size < executed.length) return "a call was executed twice";
  for (const [call, { kind, target, state }] of calls.entries()) {
    const at = positions[call] as number;
    if (state.is === "done" && at < 0) return "a call was reported as done and not executed";
    if (state.is === "notDone" && at >= 0) return "a call was reported as not done and executed";
    if (target !== undefined && at >= 0) {
      const targetAt = positions[target] as number;
      if (targetAt < 0 || targetAt > at) return "a cancel was executed before its target";
    }
    if (at < 0) continue;
    for (let earlier = 0; earlier < call; earlier += 1) {
      const mayPass = kind !== "strong" && calls[earlier]?.kind === "strong";
      if ((positions[earlier] as number) > at && !mayPass) return "a call passed an earlier one";
    }
  }
  return undefined;
}

/** Whether every caller has learned what became of its call. */
export function isSettled({ calls }: State): boolean {
  return calls.every(({ state }) => state.is === "done" || state.is === "notDone");
}

function sending(state: State): State[] {
  const { calls, client, nodes } = state;
  if (!client.isConnected) return [];
  const queued = [...calls.keys()].filter((call) => calls[call]?.state.is === "queued");
  const isWeak = (call: number): boolean => calls[call]?.kind !== "strong";
  const [head] = queued;
  const isOpen = client.flow === "full" || (client.flow === "trying" && !hasStrongUnderWay(state));
  const call = isOpen ? head : queued.find(isWeak);
  if (call === undefined) return [];
  const number = client.next;
  const sent = withCall(state, call, { is: "sent", number });
  const node = nodes[client.epoch] as Node;
  const inbox = [...node.inbox, { number, call }];
  return [
    withNode({ ...sent, client: { ...client, next: number + 1 } }, client.epoch, {
      ...node,
      inbox,
    }),
  ];
}

function hasStrongUnderWay({ calls }: State): boolean {
  return calls.some(({ kind, state }) => kind === "strong" && state.is === "sent");
}

/** A caller gives up: a call with a number is followed by a cancel, the others are dropped. */
function leaving(state: State): State[] {
  if (state.leavesLeft === 0) return [];
  return state.calls.flatMap((call, at): State[] => {
    if (call.kind === "cancel" || call.isLeft) return [];
    const left = { ...state, leavesLeft: state.leavesLeft - 1 };
    if (call.state.is === "queued") return [withCall(left, at, { is: "notDone" })];
    if (call.state.is !== "sent") return [];
    const calls = left.calls.with(at, { ...call, isLeft: true });
    const cancel: Call = { kind: "cancel", target: at, isLeft: false, state: { is: "queued" } };
    return [{ ...left, calls: [...calls, cancel] }];
  });
}

function breaking(state: State): State[] {
  const { client, breaksLeft } = state;
  if (!client.isConnected || breaksLeft === 0) return [];
  return [
    {
      ...state,
      breaksLeft: breaksLeft - 1,
      client: { ...client, isConnected: false },
      outbox: [],
    },
  ];
}

/** The resume is executed, answered with the highest number, and everything up to it is recalled. */
function resuming(state: State): State[] {
  const { client, executed, nodes } = state;
  if (client.isConnected) return [];
  const highest = executed.length;
  let resumed = state;
  for (const [call, { state: is }] of state.calls.entries()) {
    if (is.is !== "sent") continue;
    if (is.number <= highest) resumed = withCall(resumed, call, { is: "done" });
    else resumed = queueAgain(resumed, call);
  }
  const next = highest + 1;
  return [
    {
      ...resumed,
      client: { epoch: client.epoch + 1, isConnected: true, next, flow: "full" },
      nodes: [...nodes, { expected: next, isRefusing: false, inbox: [], admitted: [] }],
    },
  ];
}

function hearing(state: State, rules: Rules): State[] {
  const [message, ...outbox] = state.outbox;
  if (message === undefined || !state.client.isConnected) return [];
  const heard = { ...state, outbox };
  const { number } = message;
  const call = state.calls.findIndex(({ state: is }) => is.is === "sent" && is.number === number);
  if (message.says === "reply") {
    const done = call < 0 ? heard : withCall(heard, call, { is: "done" });
    const isTried = state.client.flow === "trying" && state.calls[call]?.kind === "strong";
    return [isTried ? { ...done, client: { ...done.client, flow: "full" } } : done];
  }
  let refused: State = heard;
  for (const [at, { state: is }] of state.calls.entries()) {
    if (is.is === "sent" && is.number >= number && at !== call) refused = queueAgain(refused, at);
  }
  if (call >= 0) {
    refused = message.isFinal
      ? withoutCancels(withCall(refused, call, { is: "notDone" }), call)
      : queueAgain(refused, call);
  }
  const next = rules.takesNumbersBack ? number : state.client.next;
  return [{ ...refused, client: { ...refused.client, next, flow: "paused" } }];
}

/** How long a pause lasts is not promised: it may be over at any moment. */
function tryingAgain(state: State): State[] {
  const { client } = state;
  return client.flow === "paused" ? [{ ...state, client: { ...client, flow: "trying" } }] : [];
}

/** A call that a caller has left is not sent again, and neither is its cancel. */
function queueAgain(state: State, call: number): State {
  if (state.calls[call]?.state.is !== "sent") return state;
  if (state.calls[call]?.isLeft !== true) return withCall(state, call, { is: "queued" });
  return withoutCancels(withCall(state, call, { is: "notDone" }), call);
}

function withoutCancels(state: State, target: number): State {
  const cancel = state.calls.findIndex((other) => other.target === target);
  return cancel < 0 ? state : withCall(state, cancel, { is: "notDone" });
}

/** A node reads what a client sent: admits, refuses, or drops it. Also after the client has gone. */
function reading(state: State, rules: Rules): State[] {
  return state.nodes.flatMap((node, epoch): State[] => {
    const [first, ...inbox] = node.inbox;
    if (first === undefined) return [];
    const { expected, isRefusing, admitted } = node;
    const isExpected = first.number === expected;
    if (!isExpected && isRefusing && rules.dropsAfterRefusal) {
      return [withNode(state, epoch, { ...node, inbox })];
    }
    const admits = withNode(state, epoch, {
      expected: first.number + 1,
      isRefusing: false,
      inbox,
      admitted: [...admitted, first],
    });
    if (state.refusalsLeft === 0) return [admits];
    const refused = withNode(state, epoch, { ...node, isRefusing: true, inbox });
    return [admits, ...refusing(refused, epoch, first.number)];
  });
}

function refusing(state: State, epoch: number, number: number): State[] {
  const { client, outbox, refusalsLeft } = state;
  const isHeard = client.isConnected && client.epoch === epoch;
  return [false, true].map((isFinal) => {
    const message: Message = { says: "refused", number, isFinal };
    return {
      ...state,
      refusalsLeft: refusalsLeft - 1,
      outbox: isHeard ? [...outbox, message] : outbox,
    };
  });
}

/** What semantics.md, 2.3, forbids: a leader's refusal is told to the client. */
function refusingLate(state: State, rules: Rules): State[] {
  if (rules.refusesAtAdmissionOnly || state.refusalsLeft === 0) return [];
  const { epoch } = state.client;
  const node = state.nodes[epoch] as Node;
  return node.admitted.flatMap(({ number }) => {
    const back = withNode(state, epoch, { ...node, isRefusing: true, expected: number });
    return refusing(back, epoch, number);
  });
}

/** Any copy of anything that was ever admitted reaches the table. */
function executing(state: State, rules: Rules): State[] {
  const { client, executed, nodes, outbox } = state;
  const present = nodes.length - 1;
  return nodes.flatMap(({ admitted }, epoch) =>
    admitted.flatMap(({ number, call }): State[] => {
      if (rules.demandsEpoch && epoch !== present) return [];
      const isNext = number === executed.length + 1;
      if (rules.demandsNext ? !isNext : number <= executed.length) return [];
      const isHeard = client.isConnected && client.epoch === epoch;
      const reply: Message = { says: "reply", number };
      return [
        {
          ...state,
          executed: [...executed, call],
          outbox: isHeard ? [...outbox, reply] : outbox,
        },
      ];
    }),
  );
}

function withCall(state: State, call: number, is: CallState): State {
  const before = state.calls[call] as Call;
  return { ...state, calls: state.calls.with(call, { ...before, state: is }) };
}

function withNode(state: State, epoch: number, node: Node): State {
  return { ...state, nodes: state.nodes.with(epoch, node) };
}
