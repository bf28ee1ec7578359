/**
 * What common generators make of `docs/reference/openapi.json` compiles, and takes, extends, shows and gives back locks
 * of a real node. The generators and the libraries of what they make come from where npm, pip, Go and Maven get them by
 * default, in fixed versions, and stay in the directory for temporary files.
 */
import { type ExecFileOptions, execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, type TestContext, test } from "vitest";
import { findCommand } from "../../lab/find-command.js";
import { ClusterScene } from "../e2e/world/cluster-scene.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const DESCRIPTION = join(ROOT, "docs/reference/openapi.json");
const PROGRAMS = join(import.meta.dirname, "generated");
const TOOLS = join(tmpdir(), "holdfast-generators");
const VERSIONS = {
  "openapi-typescript": "7.13.0",
  "openapi-fetch": "0.17.0",
  "@hey-api/openapi-ts": "0.99.0",
  typescript: "5.9.3",
  "openapi-python-client": "0.29.1",
  "oapi-codegen": "2.8.2",
  "openapi-generator-cli": "7.25.0",
} as const;
const NODE_PACKAGES = (
  ["openapi-typescript", "openapi-fetch", "@hey-api/openapi-ts", "typescript"] as const
).map((name) => `${name}@${VERSIONS[name]}`);
const OPENAPI_GENERATOR = `openapi-generator-cli-${VERSIONS["openapi-generator-cli"]}`;
/** Where Debian has it. */
const PHP_LIBRARIES = "/usr/share/php";
/** They are fetched first, next to other tests. */
const TIMEOUT_MS = 500_000;
const UNREACHABLE =
  /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT|no such host|dial tcp|Unknown host|Could not transfer|NewConnectionError|Temporary failure in name resolution/;

/** What each program says of the same requests. */
const SAID = [
  ...["taken", "refused: LOCK_HELD", "queued", "extended: true", "seen: lock 1 true"],
  // The one that waits has left the queue, and no lease.
  ...["given back: false", "given back: true", "several: [[0]]", "given back: true"],
];

const scene = new ClusterScene({ nodes: 1 });
const directory = mkdtempSync(join(tmpdir(), "holdfast-generated-"));
beforeAll(() => scene.start());
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await scene.stop();
});

const executed = promisify(execFile);

/** Runs a command that must end well. */
async function run(
  command: string,
  args: readonly string[],
  { cwd, env }: Pick<ExecFileOptions, "cwd" | "env"> = {},
): Promise<string> {
  try {
    const { stdout } = await executed(command, args, { cwd, env: { ...process.env, ...env } });
    return stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(" ")}:\n${stdout}${stderr}`, { cause: error });
  }
}

/** The folder of what `install` fetches. The test is skipped if a registry cannot be reached. */
async function tool(
  context: TestContext,
  name: string,
  install: (folder: string) => Promise<unknown>,
): Promise<string> {
  const folder = join(TOOLS, name);
  if (existsSync(folder)) return folder;
  mkdirSync(TOOLS, { recursive: true });
  const begun = mkdtempSync(`${folder}-`);
  try {
    await install(begun);
    if (!existsSync(folder)) renameSync(begun, folder);
  } catch (error) {
    if (UNREACHABLE.test(String(error))) context.skip(`${name} cannot be fetched: ${error}`);
    throw error;
  } finally {
    rmSync(begun, { recursive: true, force: true });
  }
  return folder;
}

/** A folder with the program, for what is generated. */
function project(name: string): string {
  const folder = mkdtempSync(join(directory, `${name}-`));
  cpSync(join(PROGRAMS, name), folder, { recursive: true });
  return folder;
}

function needs(context: TestContext, ...programs: readonly string[]): void {
  const missing = programs.filter((name) => findCommand(name) === undefined);
  if (missing.length > 0) context.skip(`${missing.join(", ")}: not installed`);
}

function url(): string {
  return scene.endpoints[0]?.replace("ws:", "http:") ?? "";
}

function expectSaid(stdout: string): void {
  expect(stdout.trim().split("\n")).toEqual(SAID);
}

const NODE_OPTIONS = {
  ...{ target: "ES2023", lib: ["ES2023", "DOM", "DOM.Iterable"], module: "NodeNext" },
  ...{ strict: true, allowJs: true, checkJs: true, skipLibCheck: true, outDir: "out" },
  ...{ types: ["node"], typeRoots: [join(ROOT, "node_modules/@types")] },
};

test("the page about the HTTP API names what is run here", () => {
  const page = readFileSync(join(ROOT, "docs/reference/http-api.md"), "utf8");
  const { typescript: _typescript, ...versions } = VERSIONS;
  const missing = Object.entries(versions).filter(([name, version]) => {
    return !page.includes(`${name} ${version}`);
  });
  expect(missing).toEqual([]);
});

async function nodeProject(context: TestContext): Promise<{ folder: string; bin: string }> {
  const tools = await tool(
    context,
    `node-${NODE_PACKAGES.join("-").replaceAll(/[@/]/g, "-")}`,
    (at) => run("npm", ["install", "--no-audit", "--no-fund", "--prefix", at, ...NODE_PACKAGES]),
  );
  const folder = project("node");
  // A generator behind a link would look for the compiler's configuration next to itself.
  const [from, to] = [tools, folder].map((at) => join(at, "node_modules")) as [string, string];
  cpSync(from, to, { recursive: true, verbatimSymlinks: true });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  return { folder, bin: join(folder, "node_modules/.bin") };
}

async function compileNode(folder: string, bin: string, program: string): Promise<void> {
  const config = { compilerOptions: NODE_OPTIONS, files: [program] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  await run(join(bin, "tsc"), [], { cwd: folder });
}

test.concurrent(
  "openapi-typescript, by openapi-fetch",
  async (context) => {
    const { folder, bin } = await nodeProject(context);
    await run(join(bin, "openapi-typescript"), [DESCRIPTION, "-o", join(folder, "schema.d.ts")]);
    await compileNode(folder, bin, "openapi-typescript.js");
    expectSaid(await run(process.execPath, [join(folder, "out/openapi-typescript.js"), url()]));
  },
  TIMEOUT_MS,
);

test.concurrent(
  "@hey-api/openapi-ts",
  async (context) => {
    const { folder, bin } = await nodeProject(context);
    // It asks the configuration of the compiler how modules are named.
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: NODE_OPTIONS }));
    const words = ["-i", DESCRIPTION, "-o", "hey-api", "-c", "@hey-api/client-fetch"];
    await run(join(bin, "openapi-ts"), words, { cwd: folder });
    await compileNode(folder, bin, "hey-api.js");
    expectSaid(await run(process.execPath, [join(folder, "out/hey-api.js"), url()]));
  },
  TIMEOUT_MS,
);

test.concurrent(
  "openapi-python-client",
  async (context) => {
    needs(context, "python3");
    const hasPip = await run("python3", ["-m", "pip", "--version"]).then(Boolean, () => false);
    if (!hasPip) context.skip("pip is not installed");
    const requirement = `openapi-python-client==${VERSIONS["openapi-python-client"]}`;
    const site = await tool(context, requirement, (at) =>
      run("python3", ["-m", "pip", "install", "-q", "--no-input", "--target", at, requirement]),
    );
    const folder = project("python");
    const env = {
      PYTHONPATH: site,
      PATH: `${site}/bin:${process.env["PATH"]}`,
      PYTHONDONTWRITEBYTECODE: "1",
    };
    const words = ["--path", DESCRIPTION, "--meta", "none", "--output-path", `${folder}/generated`];
    await run("python3", ["-m", "openapi_python_client", "generate", ...words], { env });
    expectSaid(await run("python3", [join(folder, "program.py"), url()], { env }));
  },
  TIMEOUT_MS,
);

test.concurrent(
  "oapi-codegen",
  async (context) => {
    needs(context, "go");
    const version = `v${VERSIONS["oapi-codegen"]}`;
    const tools = await tool(context, `oapi-codegen-${version}`, (GOBIN) =>
      run(
        "go",
        ["install", `github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@${version}`],
        {
          env: { GOBIN },
        },
      ),
    );
    const folder = project("go");
    mkdirSync(join(folder, "generated"));
    const at = { cwd: folder, env: { GOFLAGS: "-mod=mod" } };
    await run(join(tools, "oapi-codegen"), ["-config", "config.yaml", DESCRIPTION], at);
    await run("go", ["build", "-o", "program", "."], at);
    expectSaid(await run(join(folder, "program"), [url()]));
  },
  TIMEOUT_MS,
);

/** Runs openapi-generator, without tests and documents. */
async function generate(
  context: TestContext,
  target: string,
  ...words: readonly string[]
): Promise<void> {
  needs(context, "java", "mvn");
  const artifact = `org.openapitools:${OPENAPI_GENERATOR.replace("cli-", "cli:")}`;
  const tools = await tool(context, OPENAPI_GENERATOR, (at) =>
    run("mvn", [
      "-q",
      "-B",
      "dependency:copy",
      `-Dartifact=${artifact}`,
      `-DoutputDirectory=${at}`,
    ]),
  );
  const jar = join(tools, `${OPENAPI_GENERATOR}.jar`);
  const without = "apiTests=false,modelTests=false,apiDocs=false,modelDocs=false";
  await run("java", [
    ...["-XX:TieredStopAtLevel=1", "-jar", jar, "generate", "-i", DESCRIPTION, "-o", target],
    ...["--global-property", without, ...words],
  ]);
}

test.concurrent(
  "openapi-generator for Java",
  async (context) => {
    const folder = project("java");
    const packages =
      "invokerPackage=generated,apiPackage=generated.api,modelPackage=generated.model";
    const words = ["-g", "java", "--library", "native", "--additional-properties", packages];
    await generate(context, join(folder, "made"), ...words);
    const jars = await tool(context, "java-jackson-2.21.5", (at) =>
      run("mvn", ["-q", "-B", "dependency:copy-dependencies", `-DoutputDirectory=${at}`], {
        cwd: folder,
      }),
    );
    const paths = ["-cp", `${jars}/*`, "-sourcepath", join(folder, "made/src/main/java")];
    const classes = join(folder, "classes");
    await run("javac", [
      "-proc:none",
      "-nowarn",
      ...paths,
      "-d",
      classes,
      join(folder, "Program.java"),
    ]);
    expectSaid(await run("java", ["-cp", `${classes}:${jars}/*`, "Program", url()]));
  },
  TIMEOUT_MS,
);

test.concurrent(
  "openapi-generator for PHP",
  async (context) => {
    needs(context, "php");
    if (!existsSync(join(PHP_LIBRARIES, "GuzzleHttp/autoload.php"))) {
      context.skip("php-guzzlehttp-guzzle is not installed");
    }
    const folder = project("php");
    const words = ["-g", "php", "--additional-properties", "invokerPackage=Generated"];
    await generate(context, folder, ...words);
    const include = `include_path=${PHP_LIBRARIES}`;
    expectSaid(await run("php", ["-d", include, join(folder, "program.php"), url()]));
  },
  TIMEOUT_MS,
);
