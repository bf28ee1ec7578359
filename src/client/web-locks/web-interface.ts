/**
 * What Web IDL says of every interface and a class of JavaScript is not by itself: its members can
 * be enumerated, its objects say what they are, its name survives bundlers, and only the platform
 * makes objects of it. Programs that look at `navigator.locks` closely see the same here. (Web IDL,
 * sections 3.7.1 "Interface object" to 3.7.7 "Operations".)
 */

/** Known to the SDK alone: who calls a constructor with it made the object on purpose. */
export const MADE_HERE: unique symbol = Symbol("made by the client");

interface Interface {
  readonly name: string;
  readonly prototype: object;
}

/** Gives a class the shape of the interface `name`; to be called before anybody sees an object. */
export function shapeAsInterface(made: Interface, name: string): void {
  Object.defineProperty(made, "name", { value: name });
  const { prototype } = made;
  for (const member of Object.getOwnPropertyNames(prototype)) {
    if (member === "constructor") continue;
    Object.defineProperty(prototype, member, { enumerable: true });
  }
  Object.defineProperty(prototype, Symbol.toStringTag, { value: name, configurable: true });
}

/** What every constructor of such a class does first. */
export function requireMadeHere(key: unknown): void {
  if (key !== MADE_HERE) throw new TypeError("Illegal constructor");
}
