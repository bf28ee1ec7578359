/**
 * The floods that have brought a node down, or kept others waiting, each once: who sends it, and what.
 * A new one belongs here. Each is one function that floods until it is stopped, for `flood-process.ts`.
 */
import { connect as connectSocket, type Socket } from "node:net";
import { connect } from "../../../src/index.js";

/** Where a flood goes, and with what. */
export interface FloodTarget {
  readonly host: string;
  readonly clientPort: number;
  readonly redisPort: number;
  /** The token of the identity that floods. */
  readonly token: string;
}

export interface Flood {
  readonly about: string;
  /** Strangers have no token, and come from loopback or from a network of their own. */
  readonly by: "identity" | "strangers";
  readonly begin: (target: FloodTarget) => void;
}

const CONNECTIONS = 8;
const WORKERS = 256;
const UNFINISHED = 1_500;
const UNFINISHED_BYTES = 512 << 10;

export const FLOODS = {
  "ws-commands": {
    about: "commands over WebSocket, 2,048 in flight",
    by: "identity",
    begin: floodCommands,
  },
  "http-takes": {
    about: "takes over HTTP on 64 connections",
    by: "identity",
    begin: ({ host, clientPort, token }) => {
      const headers = `Host: ${host}\r\nAuthorization: Bearer ${token}\r\nHoldfast-Owner: o`;
      const request = (n: number) =>
        `PUT /v1/lock?key=flood/${n}&ttl=1s HTTP/1.1\r\n${headers}\r\nContent-Length: 0\r\n\r\n`;
      for (let i = 0; i < 64; i += 1) inTurn(host, clientPort, request, "HTTP/1.1 ");
    },
  },
  "redis-scripts": {
    about: "unknown scripts at the Redis port",
    by: "identity",
    begin: ({ host, redisPort, token }) => {
      const head = commandOf("AUTH", token);
      const script = (n: number) => {
        const body = `redis.call('set',KEYS[1],ARGV[1]) if ARGV[1]=='${n}' then return 1 end `;
        return commandOf("EVAL", body.repeat(40), "1", "flood/k", "v");
      };
      for (let i = 0; i < CONNECTIONS; i += 1) pour(host, redisPort, head, (n) => script(n));
    },
  },
  "redis-bytes": {
    about: "a command of 500 KiB at the Redis port, a byte at a time",
    by: "identity",
    begin: ({ host, redisPort, token }) => {
      const head = `${commandOf("AUTH", token)}*2\r\n$3\r\nGET\r\n$500000\r\n`;
      for (let i = 0; i < CONNECTIONS; i += 1) {
        const socket = open(host, redisPort).setNoDelay(true);
        socket.write(head);
        const next = (): void =>
          void (socket.destroyed || socket.write("v", () => setImmediate(next)));
        next();
      }
    },
  },
  "redis-unfinished": {
    about: "1,500 commands of 512 KiB at the Redis port that never end",
    by: "identity",
    begin: ({ host, redisPort, token }) => {
      const head = `${commandOf("AUTH", token)}*2\r\n$3\r\nGET\r\n$${UNFINISHED_BYTES}\r\n`;
      const most = "v".repeat(UNFINISHED_BYTES - 1);
      for (let i = 0; i < UNFINISHED; i += 1) open(host, redisPort).write(head + most);
    },
  },
  "redis-empty": {
    about: "empty commands at the Redis port, without AUTH",
    by: "strangers",
    begin: ({ host, redisPort }) => {
      const empty = "*0\r\n".repeat(16 << 10);
      for (let i = 0; i < CONNECTIONS; i += 1) pour(host, redisPort, "", () => empty);
    },
  },
  "http-description": {
    about: "GET /v1/openapi.json on 64 connections",
    by: "strangers",
    begin: ({ host, clientPort }) => {
      const request = () => `GET /v1/openapi.json HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
      for (let i = 0; i < 64; i += 1) inTurn(host, clientPort, request, "HTTP/1.1 ");
    },
  },
  "http-connections": {
    about: "a connection for each GET /status, 64 at a time",
    by: "strangers",
    begin: ({ host, clientPort }) => {
      const again = (): void => {
        const socket = open(host, clientPort);
        socket.write(`GET /status HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
        socket.resume().once("close", again);
      };
      for (let i = 0; i < 64; i += 1) again();
    },
  },
} as const satisfies Readonly<Record<string, Flood>>;

export type FloodName = keyof typeof FLOODS;
export const FLOOD_NAMES = Object.keys(FLOODS) as readonly FloodName[];

/** Instead of a flood. */
export const BURNER = "burner";

/** What the process of a flood is started with. */
export interface FloodOrder {
  readonly flood: FloodName | typeof BURNER;
  readonly target: FloodTarget;
  readonly seconds: number;
}

function floodCommands({ host, clientPort, token }: FloodTarget): void {
  for (let i = 0; i < CONNECTIONS; i += 1) {
    connect({ endpoints: [`ws://${host}:${clientPort}`], token, followLeader: false }).then(
      (client) => {
        for (let worker = 0; worker < WORKERS; worker += 1) {
          const again = async (): Promise<void> => {
            for (;;) await client.using(`flood/${i}/${worker}`, () => undefined);
          };
          again().catch(() => undefined);
        }
      },
      () => undefined,
    );
  }
}

function commandOf(...words: readonly string[]): string {
  const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  return `*${words.length}\r\n${parts.join("")}`;
}

function open(host: string, port: number): Socket {
  const socket = connectSocket(port, host);
  socket.on("error", () => undefined);
  return socket;
}

/** As much as the other side takes, on a connection that is opened again when it ends. */
function pour(host: string, port: number, head: string, next: (n: number) => string): void {
  const socket = open(host, port);
  let sent = 0;
  const more = (): void => {
    for (;;) {
      sent += 1;
      if (socket.destroyed || !socket.write(next(sent))) return;
    }
  };
  socket.resume().on("drain", more).once("connect", more);
  socket.once("close", () => setTimeout(() => pour(host, port, head, next), 10));
  socket.write(head);
}

/** One request after the other, as fast as they are answered. */
function inTurn(host: string, port: number, next: (n: number) => string, answer: string): void {
  const socket = open(host, port);
  let sent = 0;
  const ask = (): void => {
    sent += 1;
    socket.write(next(sent));
  };
  socket.on("connect", ask).on("data", (chunk) => {
    if (chunk.includes(answer)) ask();
  });
  socket.once("close", () => setTimeout(() => inTurn(host, port, next, answer), 10));
}
