/**
 * The Java client and the programs that test it, built by `javac` and `jar` alone, once for the same sources. A warning
 * of the compiler, or of the check of the Javadoc, is a failure.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findCommand } from "../../lab/find-command.js";
import { ROOT } from "../docs/document-project.js";
import { filesBelow } from "../docs/pages.js";
import { CLIENTS } from "./transcript.js";

export const JAVA_CLIENT = `${CLIENTS}java`;
const DRIVERS = join(import.meta.dirname, "drivers");
/** The programs of tests. */
export const PROGRAMS = join(import.meta.dirname, "java");
const TOOLS = ["java", "javac", "jar"];
const JAVA_11 = ["--release", "11", "-encoding", "UTF-8"];
/** A program of a second compiles nothing well, and collects nothing. */
const QUICK = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];
/** Java prints in the encoding of the locale by itself. */
const ENCODING = ["-Dfile.encoding=UTF-8"];

/** Why it cannot be built here; `undefined`: it can. */
export function lackOfJava(): string | undefined {
  const tool = TOOLS.find((each) => findCommand(each) === undefined);
  return tool === undefined ? undefined : `${tool} is not installed`;
}

export interface JavaBuild {
  readonly jar: string;
  /** The jar, and the programs of the tests. */
  readonly classPath: string;
}

let built: JavaBuild | undefined;

export function buildJava(): JavaBuild {
  built ??= build();
  return built;
}

/** The words that run a class of the class path. */
export function javaCommand(classPath: string, main: string): readonly string[] {
  return ["java", ...QUICK, ...ENCODING, "-cp", classPath, main];
}

/** Compiles these files, which may use the class path. Throws with what the compiler says. */
export function compile(classPath: string, target: string, files: readonly string[]): void {
  // A block need not name what it closes, and classes of an example may be in one file.
  const warnings = ["-Xlint:all,-options,-try,-auxiliaryclass", "-Werror"];
  run("javac", [...JAVA_11, ...warnings, "-cp", classPath, "-d", target, ...files]);
}

/** Test files that need it at the same time build it twice; the first one counts. */
function build(): JavaBuild {
  const sources = filesBelow("clients/java/src", ".java").map((file) => join(ROOT, file));
  const drivers = [join(DRIVERS, "Driver.java"), join(PROGRAMS, "Behaviours.java")];
  const digest = createHash("sha256");
  for (const file of [import.meta.filename, ...sources, ...drivers])
    digest.update(readFileSync(file));
  const folder = join(tmpdir(), `holdfast-java-${digest.digest("hex").slice(0, 16)}`);
  const [jar, programs] = [join(folder, "holdfast-client.jar"), join(folder, "programs")];
  if (!existsSync(folder)) {
    const unfinished = mkdtempSync(`${folder}-`);
    const classes = join(unfinished, "classes");
    const own = join(unfinished, "holdfast-client.jar");
    const checks = ["-Xlint:all,-options", "-Xdoclint:all/protected", "-Werror"];
    run("javac", [...JAVA_11, ...checks, "-d", classes, ...sources]);
    run("jar", ["--create", "--file", own, "-C", classes, "."]);
    compile(own, join(unfinished, "programs"), drivers);
    try {
      renameSync(unfinished, folder);
    } catch (error) {
      rmSync(unfinished, { recursive: true });
      if (!existsSync(folder)) throw error;
    }
  }
  return { jar, classPath: `${jar}:${programs}` };
}

/** What a tool of the JDK prints. Throws with what it says if it fails. */
export function run(tool: string, words: readonly string[]): string {
  try {
    return execFileSync(tool, words, { stdio: "pipe" }).toString();
  } catch (error) {
    const { stdout, stderr } = error as { stdout: Buffer; stderr: Buffer };
    throw new Error(`${tool}: ${stderr}${stdout}`);
  }
}
