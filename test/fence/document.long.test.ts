/**
 * The recipes of docs/coding/fencing.md that need a server, and the statement of the README's first
 * sample: each is run as it stands there, against a cluster and a server of the test's own. The
 * others are run with the rest of the documents.
 */
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CodeBlock, expectedOutput } from "../docs/document-page.js";
import { DocumentProject, readBlocks } from "../docs/document-project.js";
import { type ClusterProcess, startCluster } from "../e2e/world/cluster-process.js";
import { startPostgresql } from "./stores/postgresql.js";
import { startRedis } from "./stores/redis.js";

const blocks = readBlocks(["docs/coding/fencing.md"]).filter(
  ({ language, words }) => language === "ts" && words.includes("no-run"),
);
let cluster: ClusterProcess;
let project: DocumentProject;

beforeAll(async () => {
  project = await DocumentProject.create(blocks);
  cluster = await startCluster({ nodes: 1 });
});

afterAll(async () => {
  await project?.remove();
  await cluster?.stop();
});

function blockWith(text: string): CodeBlock {
  const [block, ...others] = blocks.filter(({ lines }) => lines.join("\n").includes(text));
  if (block === undefined || others.length > 0) throw new Error(`one block with ${text} is needed`);
  return block;
}

/** Runs it with these variables, as a reader who tries it would set them. */
async function expectRuns(block: CodeBlock, environment: Record<string, string>): Promise<void> {
  Object.assign(process.env, environment);
  const { code, stdout, stderr } = await project.run(block, cluster.endpoints);
  expect(code, stderr).toBe(0);
  expect(stdout.trim().split("\n")).toEqual(expectedOutput(block));
}

test("every recipe that is only compiled elsewhere is run here", () => {
  expect(blocks.length).toBe(2);
});

test("the recipe for PostgreSQL", async (context) => {
  await using server = await startPostgresql();
  if (server === undefined) return context.skip("PostgreSQL is not installed");
  await expectRuns(blockWith('from "pg"'), {
    PGHOST: "127.0.0.1",
    PGPORT: String(server.port),
    PGUSER: "postgres",
    PGDATABASE: "postgres",
  });
});

test("the recipe for Redis", async (context) => {
  await using server = await startRedis();
  if (server === undefined) return context.skip("Redis is not installed");
  await expectRuns(blockWith('from "ioredis"'), { REDIS_URL: `redis://127.0.0.1:${server.port}` });
});

test("the README's statement takes the first token where the column is NULL, and refuses older ones", async (context) => {
  const [first] = readBlocks(["README.md"]).filter(({ language }) => language === "ts");
  const statement = /"(update orders [^"]+)"/.exec(first?.lines.join("\n") ?? "")?.[1] ?? "";
  await using server = await startPostgresql();
  if (server === undefined) return context.skip("PostgreSQL is not installed");
  const { port } = server;
  const pool = new pg.Pool({ host: "127.0.0.1", port, user: "postgres", database: "postgres" });
  await pool.query("create table orders (id integer primary key, state text, fence bigint)");
  await pool.query("insert into orders (id, state) values (1001, 'open')");
  // Tokens as a cluster grants them do not fit into 32 bits.
  const token = 3_764_817_043_128_322;
  const changed: (number | null)[] = [];
  for (const each of [token, token - 1, token, token + 1]) {
    changed.push((await pool.query(statement, [each])).rowCount);
  }
  await pool.end();
  expect(changed).toEqual([1, 0, 1, 1]);
});
