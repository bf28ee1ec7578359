/**
 * `npm run jepsen`: attacks a cluster of its own and judges it; `npm run jepsen -- check` judges a
 * history. What cannot be done is refused in one line.
 */
import { UsageError } from "../lab/command-line.js";
import { EXIT, runCommand } from "./run/run-command.js";

async function main(argv: readonly string[]): Promise<number> {
  const [first, ...rest] = argv;
  try {
    if (first === "check") {
      const { checkCommand } = await import("./foreign/index.js");
      return await checkCommand(rest);
    }
    return await runCommand(argv);
  } catch (error) {
    const isRefusal = error instanceof UsageError;
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(
      `jepsen: ${message}${isRefusal ? "; see npm run jepsen -- --help" : ""}\n`,
    );
    if (process.env["HOLDFAST_DEBUG"]) console.error(error);
    return isRefusal ? EXIT.usage : EXIT.failed;
  }
}

process.exit(await main(process.argv.slice(2)));
