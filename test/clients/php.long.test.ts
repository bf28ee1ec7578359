/**
 * The package for PHP besides what the transcripts say: how it is loaded, the samples of its pages, and what only its
 * users can ask for, with real nodes; how it speaks HTTP, with servers that answer as proxies and failing nodes do.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { endWithProcess } from "../../lab/end-with-process.js";
import { findCommand } from "../../lab/find-command.js";
import { AUTHORITY, nodeCertificate } from "../certificates/test-certificates.js";
import { blocksOf, expectedOutput, isAsExpected } from "../docs/document-page.js";
import { read } from "../docs/pages.js";
import { startRedisNodes } from "../doors/redis/world/redis-nodes.js";
import { ClusterScene } from "../e2e/world/cluster-scene.js";
import { LANGUAGES } from "./languages.js";
import { CLIENTS } from "./transcript.js";

const [php] = LANGUAGES.filter(({ name }) => name === "php");
const missing = php?.missing;
const PACKAGE = `${CLIENTS}php`;
const PAGES = ["clients/php/README.md", "docs/coding/php.md", "docs/reference/http-clients.md"];
const COMPOSER = findCommand("composer");

const scene = new ClusterScene();
const directory = mkdtempSync(join(tmpdir(), "holdfast-php-"));
const servers: Server[] = [];

afterAll(() => rmSync(directory, { recursive: true, force: true }));
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** Runs a program; resolves when it has ended. */
async function run(
  program: string,
  env: Readonly<Record<string, string>> = {},
  autoload = `${PACKAGE}/autoload.php`,
) {
  const child = spawn("php", [], {
    env: {
      PATH: process.env["PATH"],
      HOLDFAST_ENDPOINTS: scene.cluster?.endpoints.join() ?? "",
      ...env,
    },
  });
  endWithProcess(child);
  child.stdin.end(`<?php declare(strict_types=1); require '${autoload}';\n${program}`);
  const out = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].on("data", (piece) => {
      out[name] += String(piece);
    });
  }
  const [code] = await once(child, "close");
  return { code, ...out };
}

/** Runs a program that must end well; resolves to what it printed. */
async function printed(program: string, env?: Readonly<Record<string, string>>): Promise<string> {
  const { code, stdout, stderr } = await run(program, env);
  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: "" });
  return stdout;
}

/** A server whose requests are answered so. Resolves to its URL. */
async function serve(listener: RequestListener, isTls = false): Promise<string> {
  const { certificatePem, keyPem } = nodeCertificate(1);
  const server = isTls
    ? createTlsServer({ cert: certificatePem, key: keyPem }, listener)
    : createServer(listener);
  servers.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return `${isTls ? "https" : "http"}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const LOOK = "echo json_encode((new Holdfast\\Client())->look('k'));";

test("the package has the version of the server, and no dependency", () => {
  const manifest = JSON.parse(readFileSync(`${PACKAGE}/composer.json`, "utf8"));
  const { version } = JSON.parse(read("package.json"));
  expect(manifest.version).toBe(version);
  expect(manifest.require).toEqual({ php: ">=8.1", "ext-json": "*" });
});

describe.skipIf(missing !== undefined)(`the package for PHP [${missing ?? "is tested"}]`, () => {
  beforeAll(() => scene.start());
  afterAll(() => scene.stop());

  test("each class is in the file that PSR-4 names", async () => {
    const manifest = JSON.parse(readFileSync(`${PACKAGE}/composer.json`, "utf8"));
    expect(manifest.autoload).toEqual({ "psr-4": { "Holdfast\\": "src/" } });
    const classes = readdirSync(`${PACKAGE}/src`).map((file) => file.replace(/\.php$/, ""));
    const found = await printed(
      classes
        .map(
          (name) => `echo Holdfast\\${name}::class, class_exists(Holdfast\\${name}::class), "\n";`,
        )
        .join(""),
    );
    expect(found).toBe(classes.map((name) => `Holdfast\\${name}1\n`).join(""));
  });

  test.skipIf(COMPOSER === undefined)(
    `Composer installs it from its folder [${COMPOSER ?? "composer is not installed"}]`,
    async () => {
      const project = mkdtempSync(join(directory, "project-"));
      const repositories = [
        { type: "path", url: PACKAGE, options: { symlink: false } },
        { "packagist.org": false },
      ];
      const manifest = { repositories, require: { "holdfast/client": "*" } };
      writeFileSync(join(project, "composer.json"), JSON.stringify(manifest));
      const env = { ...process.env, COMPOSER_HOME: project, COMPOSER_ALLOW_SUPERUSER: "1" };
      const words = { cwd: project, env, encoding: "utf8" } as const;
      const valid = spawnSync(
        COMPOSER ?? "",
        ["validate", "--no-check-version", `${PACKAGE}/composer.json`],
        words,
      );
      expect(valid.status, valid.stderr).toBe(0);
      const installed = spawnSync(COMPOSER ?? "", ["install", "--no-interaction"], words);
      expect(installed.status, installed.stderr).toBe(0);
      const program = "(new Holdfast\\Client())->lock('php/composer')->release(); echo 'done';";
      const ended = await run(program, {}, join(project, "vendor/autoload.php"));
      expect(ended).toEqual({ code: 0, stdout: "done", stderr: "" });
    },
  );

  const blocks = PAGES.flatMap((page) => blocksOf(page, read(page))).filter(
    ({ language, words }) =>
      language === "php" && !words.includes("no-run") && !words.includes("unchecked"),
  );
  test.each(blocks.map((block) => [`${block.page}:${block.line}`, block] as const))(
    "a sample runs: %s",
    async (_, block) => {
      const given = block.given.map(({ text }) => text);
      const stdout = await printed([...given, ...block.lines].join("\n"));
      const expected = expectedOutput(block);
      if (expected.length === 0) return;
      const lines = stdout.trim().split("\n");
      expect(lines).toEqual(
        expected.map((text, at) => (isAsExpected(lines[at] ?? "", text) ? lines[at] : text)),
      );
    },
  );

  test("a try gets a lock or null, and an extension moves its end", async () => {
    const stdout = await printed(`
      $client = new Holdfast\\Client();
      $first = $client->tryLock('php/try', ttl: 5);
      $second = $client->tryLock('php/try');
      $before = $first->remaining();
      $first->extend(600);
      $further = $first->remaining();
      $first->extend();
      var_dump($second, $before <= 5, $further > 300, $first->remaining() > 300);
      [$hold] = $client->look('php/try')['holds'];
      var_dump($hold['token'] === $first->token, $hold['endsInMs'] > 300_000);
      $first->release();
      var_dump($client->tryLock('php/try') !== null, $first->isHeld());
    `);
    expect(stdout.split("\n")).toEqual([
      ...["NULL", "bool(true)", "bool(true)", "bool(true)"],
      ...["bool(true)", "bool(true)"],
      ...["bool(true)", "bool(false)", ""],
    ]);
  });

  test("a lock that is over cannot be extended", async () => {
    const stdout = await printed(`
      $client = new Holdfast\\Client();
      $lock = $client->lock('php/over');
      $lock->release();
      try {
        $lock->extend();
      } catch (Holdfast\\LockLostException $loss) {
        echo $loss->error, $loss->reason;
      }
    `);
    expect(stdout).toBe("LOCK_LOSTreleased");
  });

  test.each([
    ["ends", ""],
    ["exits", "exit;"],
    ["throws", "set_exception_handler(fn () => exit(0)); throw new Exception();"],
  ])("a program that %s without a release gives its lock back", async (_, end) => {
    await printed(`$lock = (new Holdfast\\Client())->lock('php/end', ttl: 60); ${end}`);
    expect((await scene.client.inspect("php/end")).holds).toEqual([]);
  });

  test("a child that ends does not give its parent's lock back", async () => {
    const stdout = await printed(`
      $lock = (new Holdfast\\Client())->lock('php/fork', ttl: 60);
      if (pcntl_fork() === 0) exit;
      pcntl_wait($status);
      var_dump($lock->isHeld(), count((new Holdfast\\Client())->look('php/fork')['holds']));
    `);
    expect(stdout).toBe("bool(true)\nint(1)\n");
  });

  test("a watch begins, and shows each change", async () => {
    const stdout = await printed(`
      $client = new Holdfast\\Client();
      foreach ($client->watch('php/watched') as $id => $change) {
        echo $change['type'], ' ', $change['key'] ?? '-', "\n";
        if ($change['type'] === 'begun') $client->lock('php/watched/a')->release();
        if ($change['type'] === 'ended') break;
      }
      echo preg_match('/^\\d+\\.\\d+$/', $id);
    `);
    expect(stdout).toBe("begun -\ngranted php/watched/a\nended php/watched/a\n1");
  });

  test("a watch that breaks goes on after its last change, at another node", async () => {
    const asked: (string | undefined)[] = [];
    const event = (id: string, key: string) =>
      `id: ${id}\nevent: granted\ndata: {"key":"${key}"}\n\n`;
    const endpoint = await serve((request, response) => {
      const after = request.headers["last-event-id"] as string | undefined;
      asked.push(after);
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.write(`retry: 1000\nid: ${after ?? "1.0"}\nevent: begun\ndata: {}\n\n`);
      if (after === "2.0") response.write(event("3.0", "b"));
      else
        response.write(`${event("2.0", "a")}id: 3.0\nevent: granted\ndata: {"key`, () =>
          response.destroy(),
        );
    });
    const stdout = await printed(
      `foreach ((new Holdfast\\Client())->watch() as $id => $change) {
        echo $id, $change['type'], $change['key'] ?? '', "\n";
        if ($id === '3.0') break;
      }`,
      { HOLDFAST_ENDPOINTS: endpoint },
    );
    expect(stdout).toBe("1.0begun\n2.0granteda\n3.0grantedb\n");
    expect(asked).toEqual([undefined, "2.0"]);
  });

  test("an answer in chunks is read to its end, behind a path", async () => {
    const heard: (string | undefined)[] = [];
    const endpoint = await serve((request, response) => {
      heard.push(request.url, request.headers.host);
      response.writeHead(200, { "Content-Type": "application/json" });
      response.write('{"key":');
      setImmediate(() => response.end('"k"}'));
    });
    const stdout = await printed(LOOK, { HOLDFAST_ENDPOINTS: `${endpoint}/locks/` });
    expect(stdout).toBe('{"key":"k"}');
    expect(heard).toEqual(["/locks/v1/lock?key=k", endpoint.slice("http://".length)]);
  });

  test("TLS is checked against HOLDFAST_CA, and an access token comes from its file", async () => {
    const heard: unknown[] = [];
    const endpoint = await serve(({ headers }, response) => {
      heard.push(headers.authorization);
      response.end("{}");
    }, true);
    const [ca, token] = [join(directory, "ca.pem"), join(directory, "token")];
    writeFileSync(ca, AUTHORITY.certificatePem);
    writeFileSync(token, "hf_secret\n");
    const files = { HOLDFAST_ENDPOINTS: endpoint, HOLDFAST_ACCESS_TOKEN_FILE: token };
    expect(await printed(LOOK, { ...files, HOLDFAST_CA: ca })).toBe("[]");
    expect(heard).toEqual(["Bearer hf_secret"]);
    const unknown = await run(
      `try { (new Holdfast\\Client(patience: 0))->look('k'); }
      catch (Holdfast\\HoldfastException $error) { echo $error->getMessage(); }`,
      files,
    );
    expect(unknown.stdout).toMatch(
      /^UNAVAILABLE: https:.* cannot be reached: .*certificate verify failed/s,
    );
    expect(heard).toHaveLength(1);
  });

  test.each([
    [
      "(new Holdfast\\Client())->lock('k', name: \"a\\r\\nHoldfast-Owner: b\");",
      "more than one line",
    ],
    ["(new Holdfast\\Client())->lock([]);", "a list of them"],
    ["(new Holdfast\\Client())->lock(['key' => 'k']);", "a list of them"],
    ["new Holdfast\\Client('redis://10.0.0.1');", "not the URL of a node"],
    ["new Holdfast\\Client('http://user@10.0.0.1');", "not the URL of a node"],
  ])("a mistake of the program is an InvalidArgumentException: %s", async (line, sentence) => {
    const stdout = await printed(
      `try { ${line} } catch (InvalidArgumentException $error) { echo $error->getMessage(); }`,
    );
    expect(stdout).toContain(sentence);
  });

  test("at the Redis port, phpredis has its lock, and symfony/lock is refused before it holds one", async (context) => {
    const library = "/usr/share/php/Symfony/Component/Lock/autoload.php";
    if (!existsSync(library)) return context.skip("php-symfony-lock is not installed");
    const { status } = spawnSync("php", ["-r", "exit(extension_loaded('redis') ? 0 : 1);"]);
    if (status !== 0) return context.skip("php-redis is not installed");
    await using nodes = await startRedisNodes(1);
    const stdout = await printed(`
      ini_set('include_path', '/usr/share/php');
      require '${library}';
      $redis = new Redis();
      $redis->connect('127.0.0.1', ${nodes.ports[0]});
      $take = fn (string $value) => $redis->set('k', $value, ['nx', 'px' => 30_000]);
      $script = 'if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end';
      $release = fn (string $value) => $redis->eval($script, ['k', $value], 1);
      echo json_encode([$take('one'), $take('two'), $release('two'), $release('one'), $redis->get('k')]), "\n";
      $store = new Symfony\\Component\\Lock\\Store\\RedisStore($redis);
      try {
        (new Symfony\\Component\\Lock\\LockFactory($store))->createLock('s')->acquire();
      } catch (Symfony\\Component\\Lock\\Exception\\LockAcquiringException $error) {
        echo $error->getPrevious()->getMessage(), "\n", json_encode($redis->get('s'));
      }
    `);
    expect(stdout).toMatch(/^\[true,false,0,1,false\]\nNOHOLDFAST .*: it uses TIME; .*\nfalse$/);
  });
});
