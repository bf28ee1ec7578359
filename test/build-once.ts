/** Builds `dist` before the tests, so that what the end-to-end tests start is what is here. */
import { execFileSync } from "node:child_process";

export default function buildOnce(): void {
  execFileSync("npm", ["run", "--silent", "build"], { stdio: "inherit" });
}
