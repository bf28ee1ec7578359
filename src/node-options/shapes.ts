/**
 * The shapes of values, as far as the compiler checks them: a program in JavaScript can give an option
 * anything. A kind judges only values of its shape, so that none of its checks gets another type.
 */

export interface Shape {
  /** What a value must be. */
  readonly words: string;
  fits(value: unknown): boolean;
}

type Fields = Readonly<Record<string, unknown>>;

function shape(words: string, fits: (value: unknown) => boolean): Shape {
  return { words, fits };
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}

const isString = (value: unknown): boolean => typeof value === "string";
const isNumber = (value: unknown): boolean => typeof value === "number";
const isHostPort = (value: unknown): boolean =>
  isObject(value) && isString(value["host"]) && isNumber(value["port"]);
const isNodeAddress = (value: unknown): boolean =>
  isObject(value) && isNumber(value["id"]) && isHostPort(value["address"]);

/** `every` would skip the holes of an array. */
const areAll = (values: unknown, fits: (value: unknown) => boolean): boolean =>
  Array.isArray(values) && [...values].every(fits);

const HOST_PORT_WORDS = "{ host: string, port: number }";

export const STRING = shape("a string", isString);
export const STRINGS = shape("an array of strings", (value) => areAll(value, isString));
export const NUMBER = shape("a number", isNumber);
export const NUMBERS = shape(
  "an object of numbers",
  (value) => isObject(value) && !Array.isArray(value) && areAll(Object.values(value), isNumber),
);
export const BOOLEAN = shape("true or false", (value) => typeof value === "boolean");
export const HOST_PORT = shape(HOST_PORT_WORDS, isHostPort);
export const NODE_ADDRESSES = shape(
  `an array of { id: number, address: ${HOST_PORT_WORDS} }`,
  (value) => areAll(value, isNodeAddress),
);
export const OBJECT = shape("an object", (value) => isObject(value) && !Array.isArray(value));
export const FUNCTION = shape("a function", (value) => typeof value === "function");
export const SIGNAL = shape("an AbortSignal", (value) => value instanceof AbortSignal);
