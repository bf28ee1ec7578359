/**
 * One real node's worth of cluster for tests of the platform for Node: the real lock table behind a
 * real WebSocket, applying what arrives in one turn as one entry.
 */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createServer as createSecureServer, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { LockTable, type TableCommand, type TableOutbox } from "../../../src/lockfsm/index.js";
import { writePayload } from "../../../src/net/framing/index.js";
import {
  type Attached,
  attachKeyOf,
  type ClientRequest,
  decodeFrame,
  isAttachCommand,
  isNodeOperation,
  isOperation,
  isQuery,
  MESSAGE,
  type NodeEndpoint,
  PROTOCOL_VERSION,
  type ServerMessage,
  type SessionMessage,
  STATUS,
  SUBPROTOCOL,
  Writer,
  writeServerMessage,
} from "../../../src/protocol/index.js";
import { TableMembers } from "./table-members.js";

interface Peer {
  readonly socket: WebSocket;
  readonly messages: ServerMessage[];
  /** The attach that it asked for last. */
  awaited: string;
  session: number;
  epoch: number;
  /** The only sequence of its session that is admitted. */
  expected: number;
}

export class SocketTable implements TableOutbox {
  readonly table = new LockTable();
  /** Three voters, of which this is the first. */
  readonly members: TableMembers;
  readonly cluster = { leaderId: 1, faults: { downNodes: new Set<number>() } };
  /** Whom `hello` calls the leader, and where. Default: this node. */
  told: NodeEndpoint;
  /** How many connections it had. */
  connections = 0;
  /** From a command's arrival to its entry being applied. */
  applyDelayMs = 0;
  readonly #http: Server;
  readonly #scheme: string;
  readonly #server: WebSocketServer;
  readonly #peers = new Set<Peer>();
  readonly #writer = new Writer();
  #pending: { readonly peer: Peer; readonly command: TableCommand["command"] }[] = [];
  #index = 0;

  private constructor(http: Server, scheme: string, server: WebSocketServer) {
    this.#http = http;
    this.#scheme = scheme;
    this.#server = server;
    this.told = { id: 1, endpoint: this.endpoint };
    const endpoints = [this.endpoint, "ws://node-2:7411", "ws://node-3:7411"];
    this.members = new TableMembers(endpoints.map((endpoint, i) => ({ id: i + 1, endpoint })));
    server.on("connection", (socket) => this.#accept(socket));
  }

  /** Over TLS with these. */
  static async listen(tls?: ServerOptions): Promise<SocketTable> {
    const http = tls === undefined ? createServer() : createSecureServer(tls);
    const server = new WebSocketServer({
      server: http,
      path: "/v1",
      perMessageDeflate: false,
      handleProtocols: () => SUBPROTOCOL,
    });
    http.listen(0, "127.0.0.1");
    await once(http, "listening");
    return new SocketTable(http, tls === undefined ? "ws" : "wss", server);
  }

  get endpoint(): string {
    return `${this.#scheme}://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  dropConnections(): void {
    for (const { socket } of this.#peers) socket.terminate();
  }

  async close(): Promise<void> {
    this.dropConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  toSession(session: number, epoch: number, message: SessionMessage): void {
    for (const peer of this.#peers) {
      if (peer.session === session && peer.epoch === epoch) peer.messages.push(message);
    }
  }

  attached(message: Attached): void {
    for (const peer of this.#peers) {
      if (peer.awaited !== message.key) continue;
      if (message.status === STATUS.ok) {
        peer.session = message.session;
        peer.epoch = message.epoch;
        peer.expected = message.highestSequence + 1;
      }
      peer.messages.push(message);
    }
  }

  #accept(socket: WebSocket): void {
    this.connections += 1;
    const peer: Peer = {
      socket,
      messages: [],
      awaited: "",
      session: 0,
      epoch: 0,
      expected: 1,
    };
    this.#peers.add(peer);
    socket.on("close", () => this.#peers.delete(peer));
    socket.on("message", (frame: Uint8Array) => {
      decodeFrame(frame, {
        request: (request) => this.#take(peer, request),
        invalid: (op, id, reason) => socket.close(1008, `${op} ${id}: ${reason}`),
      });
    });
    peer.messages.push({
      kind: MESSAGE.hello,
      version: PROTOCOL_VERSION,
      clusterId: "c0ffee00c0ffee00c0ffee00c0ffee00",
      nodeId: 1,
      leaderId: this.told.id,
      endpoints: [{ id: 1, endpoint: this.endpoint }, this.told],
      frameBytesMax: 1 << 20,
      voters: [1],
    });
    this.#flush(peer);
  }

  #take(peer: Peer, command: ClientRequest): void {
    if (isOperation(command) && !isNodeOperation(command)) {
      const answer = this.members.carryOut(command, this.cluster);
      peer.messages.push({ kind: MESSAGE.answer, id: command.id, ...answer });
      this.#flush(peer);
      return;
    }
    if (isQuery(command) || isOperation(command)) return;
    if (isAttachCommand(command)) peer.awaited = attachKeyOf(command);
    else if ("sequence" in command && peer.session !== 0) {
      if (command.sequence !== peer.expected) {
        peer.socket.close(1008, `${command.sequence} in place of ${peer.expected}`);
        return;
      }
      peer.expected += 1;
    }
    this.#pending.push({ peer, command });
    if (this.#pending.length === 1) setTimeout(() => this.#apply(), this.applyDelayMs);
  }

  #apply(): void {
    const commands = this.#pending.map(({ peer, command }) => {
      const isAttach = command !== undefined && isAttachCommand(command);
      return {
        session: isAttach ? 0 : peer.session,
        epoch: isAttach ? 0 : peer.epoch,
        command,
      };
    });
    this.#pending = [];
    this.#index += 1;
    const stamp = 1_000 + Math.floor(performance.now());
    this.table.apply({ index: this.#index, stamp, wallMs: Date.now(), commands }, this);
    for (const peer of this.#peers) this.#flush(peer);
  }

  #flush(peer: Peer): void {
    if (peer.messages.length === 0) return;
    this.#writer.beginFrame();
    for (const message of peer.messages) writeServerMessage(this.#writer, message, writePayload);
    this.#writer.endFrame(peer.messages.length);
    peer.messages.length = 0;
    peer.socket.send(this.#writer.take());
  }
}
