/**
 * What a connection may ask besides commands, which the table judges itself: reads when they are
 * answered, operations when they begin.
 */
import { ERROR_NUMBERS } from "../../errors/index.js";
import type { Viewer } from "../../lockfsm/index.js";
import {
  ACCESS_LEVEL,
  type AccessLevel,
  ANONYMOUS,
  isCommandOp,
  OP,
  type Operation,
  type Query,
} from "../../protocol/index.js";
import type { AccessLog } from "../commands/access-log.js";
import type { Attachment } from "../commands/attachments.js";

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

/** The same, and reports a refusal to operators. */
export function judge(
  accessLog: AccessLog,
  attachment: Attachment,
  viewer: Viewer | undefined,
  request: Query | Operation,
): AccessRefusal | undefined {
  const status = accessProblem(viewer, request);
  if (status !== undefined) report(accessLog, attachment, viewer, request, status);
  return status;
}

/** A request was refused because of who asked: reports it to operators. */
export function report(
  accessLog: AccessLog,
  { connection }: Attachment,
  viewer: Viewer | undefined,
  { op, key }: { readonly op: number; readonly key?: string | undefined },
  status: AccessRefusal,
): void {
  const identity = viewer?.name ?? "";
  accessLog.onRequest(connection, { identity, verb: verbOf(op), status, op, key: key ?? "" });
}

/** The level that such a request needs on what it asks about. */
function verbOf(op: number): AccessLevel {
  switch (op) {
    case OP.open:
    case OP.resume:
      return "acquire";
    case OP.revoke:
    case OP.endSession:
    case OP.setLimit:
      return "operate";
    case OP.access:
    case OP.checkAccess:
    case OP.audit:
    case OP.changeMember:
    case OP.transfer:
    case OP.saveSnapshot:
    case OP.readSnapshot:
    case OP.logLevel:
      return "admin";
    default:
      return isCommandOp(op) ? "admin" : "observe";
  }
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
    case OP.vitals:
    case OP.members:
      return viewer.highest >= observe;
    case OP.sessions:
      return viewer.everywhere >= observe;
    case OP.checkAccess:
      return viewer.everywhere >= admin || request.name === viewer.name;
    case OP.logLevel:
      return request.level === undefined ? viewer.highest >= observe : viewer.everywhere >= admin;
    case OP.unwatch:
    case OP.whoAmI:
    case OP.signIn:
    case OP.readOnly:
    case OP.ping:
      return true;
    default:
      return viewer.everywhere >= admin;
  }
}
