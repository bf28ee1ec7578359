/**
 * Reads and operations to bytes: what does not enter the log, but is bound to the same canonical
 * form. The other half of `read-question.ts`.
 */
import { unreachable } from "../../assert.js";
import { OP } from "../commands.js";
import { CHECKSUM_BYTES } from "../limits.js";
import { MEMBER_ACTION, type Operation, type Query } from "../questions.js";
import { writeDigits, writeHead, writeOptionalText } from "./request-parts.js";
import type { Writer } from "./writer.js";

export function writeQuestion(writer: Writer, request: Query | Operation): void {
  switch (request.op) {
    case OP.inspect:
      writeHead(writer, 3, request.op);
      writer.uint(request.id);
      writer.string(request.key);
      return;
    case OP.query:
      writeHead(writer, 5, request.op);
      writer.uint(request.id);
      writer.string(request.prefix);
      writeOptionalText(writer, request.after);
      writer.uint(request.limit);
      return;
    case OP.explain:
      writeHead(writer, 5, request.op);
      writer.uint(request.id);
      writer.string(request.key);
      writer.uint(request.session);
      writer.uint(request.sequence);
      return;
    case OP.waitGraph:
      writeHead(writer, 3, request.op);
      writer.uint(request.id);
      writer.uint(request.limit);
      return;
    case OP.verify:
      writeHead(writer, 4, request.op);
      writer.uint(request.id);
      writer.string(request.key);
      writer.uint(request.token);
      return;
    case OP.settings:
      writeHead(writer, 2, request.op);
      writer.uint(request.id);
      return;
    case OP.history:
      writeHead(writer, 4, request.op);
      writer.uint(request.id);
      writer.string(request.key);
      writer.uint(request.limit);
      return;
    case OP.sessions:
      writeHead(writer, 4, request.op);
      writer.uint(request.id);
      writer.uint(request.after);
      writer.uint(request.limit);
      return;
    case OP.watch:
      writeHead(writer, 6, request.op);
      writer.uint(request.id);
      writer.string(request.key);
      writer.bool(request.isPrefix);
      writer.uint(request.after?.index ?? 0);
      writer.uint(request.after?.number ?? 0);
      return;
    case OP.unwatch:
      writeHead(writer, 3, request.op);
      writer.uint(request.id);
      writer.uint(request.watch);
      return;
    default:
      writeOperation(writer, request);
  }
}

function writeOperation(writer: Writer, request: Operation): void {
  switch (request.op) {
    case OP.members:
      writeHead(writer, 2, request.op);
      writer.uint(request.id);
      return;
    case OP.changeMember:
      writeHead(writer, 5, request.op);
      writer.uint(request.id);
      writer.uint(MEMBER_ACTION[request.action]);
      writer.uint(request.node);
      writeOptionalText(writer, request.address);
      return;
    case OP.transfer:
      writeHead(writer, 3, request.op);
      writer.uint(request.id);
      writer.uint(request.node);
      return;
    case OP.saveSnapshot:
      writeHead(writer, 3, request.op);
      writer.uint(request.id);
      writer.bool(request.isStale);
      return;
    case OP.readSnapshot:
      writeHead(writer, 4, request.op);
      writer.uint(request.id);
      writeDigits(writer, request.checksum, CHECKSUM_BYTES);
      writer.uint(request.chunk);
      return;
    default:
      unreachable(request);
  }
}
