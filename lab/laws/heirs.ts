/**
 * What is handed over as a whole goes to one: nobody goes on with a part of it if somebody else has any
 * (docs/internals/semantics.md, 8). A judge knows the parts by their secrets or by their tokens.
 */
export class Heirs<Part, Heir> {
  readonly #heirs = new Map<Part, Heir>();

  /** `heir` has got some of `whole`. Returns who else has. */
  goesOn(heir: Heir, whole: Iterable<Part>): Heir | undefined {
    let other: Heir | undefined;
    for (const part of whole) {
      const known = this.#heirs.get(part);
      if (known === undefined) this.#heirs.set(part, heir);
      else if (known !== heir) other ??= known;
    }
    return other;
  }
}
