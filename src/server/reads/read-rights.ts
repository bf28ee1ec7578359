/**
 * What a connection may ask besides commands, which the table judges itself: reads when they are
 * answered, operations when they are begun with.
 */
import { ERROR_NUMBERS } from "../../errors.js";
import type { Viewer } from "../../lockfsm/index.js";
import { ACCESS_LEVEL, ANONYMOUS, OP, type Operation, type Query } from "../../protocol/index.js";

const { observe, admin } = ACCESS_LEVEL;

export type AccessRefusal = typeof ERROR_NUMBERS.UNAUTHENTICATED | typeof ERROR_NUMBERS.FORBIDDEN;

/**
 * Why the viewer may not ask that; `undefined` if it may. @param viewer `undefined`: its credential
 * is gone
 */
export function accessProblem(
  viewer: Viewer | undefined,
  request: Query | Operation,
): AccessRefusal | undefined {
  if (viewer !== undefined && mayAsk(viewer, request)) return undefined;
  const isUnknown = viewer === undefined || viewer.name === ANONYMOUS;
  return isUnknown ? ERROR_NUMBERS.UNAUTHENTICATED : ERROR_NUMBERS.FORBIDDEN;
}

function mayAsk(viewer: Viewer, request: Query | Operation): boolean {
  switch (request.op) {
    case OP.inspect:
    case OP.explain:
    case OP.verify:
    case OP.history:
      return viewer.levelOf(request.key) >= observe;
    case OP.watch:
      return request.isPrefix
        ? viewer.levelOfAll(request.key) >= observe
        : viewer.levelOf(request.key) >= observe;
    // Lists show what may be observed.
    case OP.query:
    case OP.waitGraph:
    case OP.settings:
    case OP.members:
      return viewer.highest >= observe;
    case OP.sessions:
      return viewer.everywhere >= observe;
    case OP.checkAccess:
      return viewer.everywhere >= admin || request.name === viewer.name;
    case OP.unwatch:
    case OP.whoAmI:
    case OP.signIn:
      return true;
    default:
      return viewer.everywhere >= admin;
  }
}
