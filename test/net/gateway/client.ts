/** A gateway with a driver that echoes, and bare clients of it, for tests on loopback sockets. */
import { once } from "node:events";
import { WebSocket } from "ws";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { decodeServerFrame } from "../../../src/net/framing/index.js";
import type { GatewayOptions } from "../../../src/net/gateway/options.js";
import {
  type ClientConnection,
  createGateway,
  type GatewayEvents,
  type GatewayTuning,
} from "../../../src/net/index.js";
import type { TransportTls } from "../../../src/net/tls/transport.js";
import {
  type ClientRequest,
  isAttachCommand,
  MESSAGE,
  OP,
  type OpenCommand,
  type Operation,
  PROTOCOL_VERSION,
  type Query,
  type ServerMessage,
  type SessionCommand,
  STATUS,
  SUBPROTOCOL,
  Writer,
  writeRequest,
} from "../../../src/protocol/index.js";
import { Recorder } from "../recorder.js";

export type Heard =
  | { readonly on: "connection" | "closed"; readonly id: number }
  | { readonly on: "attach"; readonly id: number; readonly bytes: Uint8Array }
  | {
      readonly on: "command";
      readonly id: number;
      readonly command: SessionCommand;
      readonly bytes: Uint8Array;
    }
  | { readonly on: "query"; readonly id: number; readonly query: Query }
  | {
      readonly on: "operation";
      readonly id: number;
      readonly operation: Operation;
      readonly bytes: Uint8Array;
    }
  | { readonly on: "refused"; readonly reason: string };

export const NONCE = "000102030405060708090a0b0c0d0e0f";
export const OPEN: OpenCommand = {
  op: OP.open,
  nonce: NONCE,
  attempt: 1,
  ttlMs: 15_000,
  name: "",
  metadata: "",
};
/** A short one of a session. */
export const command = (sequence: number): ClientRequest & { readonly sequence: number } => ({
  ...{ op: OP.close, sequence, mark: 1, acknowledged: [] },
});

const ATTACHED = {
  ...{ kind: MESSAGE.attached, key: "", session: 77, epoch: 1 },
  ...{ highestSequence: 0, stamp: 1, ttlMs: 15_000, index: 1 },
} as const;

/** Attaches each client that asks to session 77, answers each command, echoes each key. */
export class TestGateway implements GatewayEvents {
  readonly gateway: ReturnType<typeof createGateway>;
  readonly record = new Recorder<Heard>();
  readonly connections = new Map<number, ClientConnection>();
  receivedBytes = 0;
  /** The connection that is paused whenever something is received from it. */
  pausing = 0;
  readonly #scheme: "ws" | "wss";

  constructor(
    tuning: Partial<GatewayTuning> & Pick<GatewayOptions, "limits" | "door" | "onFailed"> = {},
    port = 0,
    tls?: TransportTls,
  ) {
    this.#scheme = tls === undefined ? "ws" : "wss";
    this.gateway = createGateway({
      listen: { host: "127.0.0.1", port },
      tls,
      closeGraceMs: 100,
      onRefused: (reason) => this.record.push({ on: "refused", reason }),
      ...tuning,
    });
  }

  async start(): Promise<this> {
    await this.listen();
    this.gateway.serve(this);
    return this;
  }

  /** Sends clients away, because it is busy with something else. */
  async listen(): Promise<void> {
    const contentType = "text/plain; charset=utf-8";
    await this.gateway.start((path) => {
      return { status: path === "/livez" ? 200 : 404, contentType, body: `page ${path}\n` };
    }, "not yet");
  }

  get url(): string {
    return `127.0.0.1:${this.gateway.port}`;
  }

  get endpoint(): string {
    return `${this.#scheme}://${this.url}`;
  }

  onReceived(connection: ClientConnection, bytes: number): void {
    this.receivedBytes += bytes;
    if (connection.id === this.pausing) connection.pause();
  }

  onConnection(connection: ClientConnection): void {
    this.connections.set(connection.id, connection);
    this.record.push({ on: "connection", id: connection.id });
    connection.send({
      kind: MESSAGE.hello,
      version: PROTOCOL_VERSION,
      clusterId: "ab".repeat(16),
      nodeId: 1,
      leaderId: 0,
      endpoints: [],
      frameBytesMax: 1 << 20,
      voters: [1],
    });
    this.gateway.flush();
  }

  onAttach(connection: ClientConnection, command: ClientRequest, bytes: Uint8Array): void {
    this.record.push({ on: "attach", id: connection.id, bytes });
    connection.session = 77;
    const attempt = "attempt" in command ? command.attempt : 0;
    connection.send({ ...ATTACHED, attempt, status: STATUS.ok });
    this.gateway.flush();
  }

  onInvalidCommand(connection: ClientConnection, op: number, id: number): void {
    const status = ERROR_NUMBERS.INVALID_ARGUMENT;
    if (isAttachCommand({ op })) connection.send({ ...ATTACHED, attempt: id, status });
    else connection.send({ kind: MESSAGE.refused, sequence: id, status });
    this.gateway.flush();
  }

  onCommand(connection: ClientConnection, command: SessionCommand, bytes: Uint8Array): void {
    this.record.push({ on: "command", id: connection.id, command, bytes });
    const result = { status: STATUS.ok };
    const sequence = "sequence" in command ? command.sequence : command.number;
    connection.send({ kind: MESSAGE.reply, sequence, stamp: 9, result });
    setImmediate(() => this.gateway.flush());
  }

  onQuery(connection: ClientConnection, query: Query): void {
    this.record.push({ on: "query", id: connection.id, query });
    if (query.op === OP.watch) connection.watchCount += 1;
    if (query.op === OP.unwatch) connection.watchCount -= 1;
    const payload = { op: query.op };
    connection.send({ kind: MESSAGE.answer, id: query.id, status: STATUS.ok, payload });
    this.gateway.flush();
  }

  onOperation(connection: ClientConnection, operation: Operation, bytes: Uint8Array): void {
    this.record.push({ on: "operation", id: connection.id, operation, bytes });
    connection.send({
      kind: MESSAGE.answer,
      id: operation.id,
      status: ERROR_NUMBERS.BUSY,
      payload: { message: "another change is under way" },
    });
    this.gateway.flush();
  }

  onClosed(connection: ClientConnection): void {
    this.record.push({ on: "closed", id: connection.id });
  }
}

/** A client that says whatever it is told to say. */
export class BareClient {
  readonly socket: WebSocket;
  readonly messages = new Recorder<ServerMessage>();
  frames = 0;
  readonly closed: Promise<{ code: number; reason: string }>;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("error", () => undefined);
    socket.on("message", (data) => {
      this.frames += 1;
      for (const message of decodeServerFrame(data as Buffer)) this.messages.push(message);
    });
    this.closed = new Promise((resolve) => {
      socket.on("close", (code, reason) => resolve({ code, reason: reason.toString() }));
    });
  }

  static async connect(gateway: TestGateway, options: object = {}): Promise<BareClient> {
    const socket = new WebSocket(`${gateway.endpoint}/v1`, SUBPROTOCOL, {
      perMessageDeflate: false,
      ...options,
    });
    const client = new BareClient(socket);
    await once(socket, "open");
    return client;
  }

  static async attached(gateway: TestGateway): Promise<BareClient> {
    const client = await BareClient.connect(gateway);
    client.say(OPEN);
    await client.messages.find((message) => message.kind === MESSAGE.attached);
    return client;
  }

  say(...requests: readonly ClientRequest[]): void {
    this.socket.send(frameOf(requests));
  }

  /** Says something of a session, and waits until that is answered. */
  async answerTo(request: ClientRequest & { readonly sequence: number }): Promise<void> {
    this.say(request);
    await this.reply(request.sequence);
  }

  /** The first reply, outcome, answer or attachment behind the hello. */
  async answer(): Promise<ServerMessage> {
    return this.messages.find((message) => message.kind !== MESSAGE.hello);
  }

  async refusal(sequence: number): Promise<ServerMessage> {
    return this.messages.find(
      (message) => message.kind === MESSAGE.refused && message.sequence === sequence,
    );
  }

  async reply(sequence: number): Promise<ServerMessage> {
    return this.messages.find(
      (message) => message.kind === MESSAGE.reply && message.sequence === sequence,
    );
  }
}

export function frameOf(requests: readonly ClientRequest[]): Uint8Array {
  const writer = new Writer();
  writer.beginFrame();
  for (const request of requests) writeRequest(writer, request);
  writer.endFrame(requests.length);
  return writer.take();
}
