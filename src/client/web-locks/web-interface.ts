/**
 * Gives JavaScript classes what Web IDL requires of every interface and a plain class does not
 * have: members that can be enumerated, objects with a type name, a name that survives bundlers,
 * and a constructor that only the platform can call. Programs that inspect `navigator.locks`
 * closely see the same here. (Web IDL, sections 3.7.1 "Interface object" to 3.7.7 "Operations".)
 */

/** Known to the SDK alone: a constructor that gets it was called on purpose. */
export const MADE_HERE: unique symbol = Symbol("made by the client");

interface Interface {
  readonly name: string;
  readonly prototype: object;
}

/** Gives a class the shape of the interface `name`; must be called before any object is visible. */
export function shapeAsInterface(made: Interface, name: string): void {
  Object.defineProperty(made, "name", { value: name });
  const { prototype } = made;
  for (const member of Object.getOwnPropertyNames(prototype)) {
    if (member === "constructor") continue;
    Object.defineProperty(prototype, member, { enumerable: true });
  }
  Object.defineProperty(prototype, Symbol.toStringTag, { value: name, configurable: true });
}

/** The first statement of every constructor of such a class. */
export function requireMadeHere(key: unknown): void {
  if (key !== MADE_HERE) throw new TypeError("Illegal constructor");
}
