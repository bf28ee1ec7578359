/**
 * Who may have had which rights when, according to the changes of access in a history. It begins
 * like a new cluster: `anonymous` may do everything, and so may `local`, always. `as` in a line
 * names the credential that its process has shown; a credential that no line of the history puts
 * speaks for no identity.
 */
import type { Operation, PairedHistory } from "../operations.js";
import {
  type AccessChange,
  changeOf,
  levelOf,
  type Need,
  needOf,
  prefixTarget,
  targetsOver,
} from "./access-functions.js";
import { PossibleValues, type Span } from "./possible-values.js";

const ANONYMOUS = "anonymous";
const LOCAL = "local";
const NONE = levelOf("none");
const ADMIN = levelOf("admin");

/** The lowest and the highest level that somebody can have had during an operation. */
export interface LevelRange {
  readonly least: number;
  readonly most: number;
}

export interface RecordedChange {
  readonly operation: Operation;
  readonly change: AccessChange;
}

type Grants = Map<string, PossibleValues<number>>;

export class Rights {
  /** Changes that took effect, or may have. */
  readonly changes: readonly RecordedChange[];
  readonly #grants = new Map<string, Grants>();
  readonly #credentials = new Map<string, PossibleValues<string | undefined>>();

  private constructor(changes: readonly RecordedChange[]) {
    this.changes = changes;
    const first = new PossibleValues(ADMIN);
    this.#grants.set(ANONYMOUS, new Map([[prefixTarget(""), first]]));
    for (const { operation, change } of changes) this.#add(change, operation);
  }

  /**
   * A change of unknown outcome by somebody who cannot have been an admin has had no effect. Its
   * author can have become one by another such change, so they are added step by step.
   */
  static in({ operations }: PairedHistory): Rights {
    const all = operations.flatMap((operation): RecordedChange[] => {
      const change = operation.outcome === "fail" ? undefined : changeOf(operation);
      return change === undefined ? [] : [{ operation, change }];
    });
    let rights = new Rights(all.filter(({ operation }) => operation.outcome === "ok"));
    for (;;) {
      const known = rights;
      const next = all.filter(({ operation }) => {
        return operation.outcome === "ok" || known.mayAllow(operation) !== false;
      });
      if (next.length === known.changes.length) return known;
      rights = new Rights(next);
    }
  }

  /** The level during an operation, on all of the keys, or on any key. */
  levelsOf(as: string, need: Need, span: Span): LevelRange {
    if (as === LOCAL) return { least: ADMIN, most: ADMIN };
    const identities = this.#identitiesOf(as, span);
    const ranges = identities.map((identity) => this.#rangeOf(identity, need, span));
    return {
      least: Math.min(...ranges.map(({ least }) => least)),
      most: Math.max(...ranges.map(({ most }) => most)),
    };
  }

  /** Whether grants can have allowed it at some time; `undefined` if it needs none. */
  mayAllow(operation: Operation): boolean | undefined {
    const need = needOf(operation);
    const { as } = operation.invocation;
    if (need === undefined || as === undefined) return undefined;
    return this.levelsOf(as, need, operation).most >= need.level;
  }

  /** What has changed such rights before the answer, in the order of the requests. */
  changesFor({ invocation, returnedAt }: Operation, keys: readonly string[]): Operation[] {
    const { as = "" } = invocation;
    const speakers = new Set(as === ANONYMOUS ? [as] : this.#credentials.get(as)?.all);
    const targets = new Set(keys.flatMap((key) => [...targetsOver(key)]));
    const concerns = (change: AccessChange) => {
      if (change.kind === "credential") return change.credential === as;
      return speakers.has(change.identity) && (keys.length === 0 || targets.has(change.target));
    };
    return this.changes
      .filter(({ operation, change }) => operation.invokedAt < returnedAt && concerns(change))
      .map(({ operation }) => operation);
  }

  #identitiesOf(as: string, span: Span): (string | undefined)[] {
    if (as === ANONYMOUS) return [ANONYMOUS];
    return this.#credentials.get(as)?.during(span) ?? [undefined];
  }

  #rangeOf(identity: string | undefined, { keys }: Need, span: Span): LevelRange {
    const grants = identity === undefined ? undefined : this.#grants.get(identity);
    if (grants === undefined) return { least: NONE, most: NONE };
    if (keys.length === 0) return rangeOver(grants.values(), span);
    const ranges = keys.map((key) => rangeOver(covering(grants, key), span));
    return {
      least: Math.min(...ranges.map(({ least }) => least)),
      most: Math.min(...ranges.map(({ most }) => most)),
    };
  }

  #add(change: AccessChange, span: Span): void {
    if (change.kind === "credential") {
      const { credential, identity } = change;
      valuesIn(this.#credentials, credential, undefined).add(identity, span);
      return;
    }
    const grants: Grants = this.#grants.get(change.identity) ?? new Map();
    this.#grants.set(change.identity, grants);
    valuesIn(grants, change.target, NONE).add(change.level, span);
  }
}

function* covering(grants: Grants, key: string): Generator<PossibleValues<number>> {
  for (const target of targetsOver(key)) {
    const levels = grants.get(target);
    if (levels !== undefined) yield levels;
  }
}

/** The highest grant counts. */
function rangeOver(all: Iterable<PossibleValues<number>>, span: Span): LevelRange {
  let [least, most] = [NONE, NONE];
  for (const levels of all) {
    const possible = levels.during(span);
    least = Math.max(least, Math.min(...possible));
    most = Math.max(most, ...possible);
  }
  return { least, most };
}

function valuesIn<T>(values: Map<string, PossibleValues<T>>, name: string, first: T) {
  const known = values.get(name) ?? new PossibleValues(first);
  values.set(name, known);
  return known;
}
