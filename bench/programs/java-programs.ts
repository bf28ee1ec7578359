/** Programs in Java: a folder in the sources of the bench, with a `pom.xml` that names its jars. */
import { readdirSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { findCommand } from "../../lab/find-command.js";
import { cachedFolder, type Making, runTool, sourceFile } from "./cached-folder.js";

/** The harness that all of them are compiled with. */
const HARNESS = "peers/java";
const TOOLS = {
  java: "default-jre-headless",
  javac: "default-jdk-headless",
  mvn: "maven",
} as const;

export function lackOfJava(): string | undefined {
  for (const [tool, debian] of Object.entries(TOOLS)) {
    if (findCommand(tool) === undefined) {
      return `${tool} is not installed (Debian: apt-get install ${debian})`;
    }
  }
  return undefined;
}

/**
 * The class path of the compiled folder, with its jars.
 *
 * @param sources the folder, from `bench` on
 */
export async function javaPrograms(sources: string, name: string, making: Making): Promise<string> {
  const pom = sourceFile(`${sources}/pom.xml`);
  const files = [sources, HARNESS].flatMap((each) => {
    const folder = sourceFile(each);
    return readdirSync(folder)
      .filter((file) => file.endsWith(".java"))
      .sort()
      .map((file) => join(folder, file));
  });
  const folder = await cachedFolder(name, [pom, ...files], making, async (unfinished) => {
    const [jars, classes] = [join(unfinished, "jars"), join(unfinished, "classes")];
    await mkdir(classes);
    const copy = ["dependency:copy-dependencies", "-DincludeScope=runtime"];
    await runTool("mvn", ["-q", "-B", "-f", pom, ...copy, `-DoutputDirectory=${jars}`], making);
    await runTool("javac", ["-cp", join(jars, "*"), "-d", classes, ...files], making);
  });
  return [join(folder, "classes"), join(folder, "jars", "*")].join(":");
}
