/**
 * `holdfast dashboard`: finds a node that serves the dashboard and opens it. The address
 * contains nothing secret: who signs in does so on the page.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { get as getHttp, type RequestOptions } from "node:http";
import { get as getHttps } from "node:https";
import { type Command, Option } from "commander";
import { DIAL_OPTIONS } from "../../../src/reach/index.js";
import { clusterMembers } from "../../cluster/node-report.js";
import {
  clusterAccessFor,
  endpointsOption,
  examplesText,
  type NodeAccess,
} from "../../config/command-options.js";
import type { Finish } from "../../exit/ending.js";
import { EXIT } from "../../exit/exit-codes.js";
import { Failure } from "../../exit/failure.js";
import { note, print } from "../../output/terminal.js";
import { findTool } from "../../run/find-executable.js";

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast dashboard", "opens the dashboard of the cluster in a browser"],
  ["holdfast dashboard --print", "only prints its address"],
];

const NOTES = `
Prints the address of the first node that serves the dashboard, and opens it if
this machine has a desktop and a program for that (xdg-open, open, or rundll32
on Windows). Exit code 4 if no node serves the dashboard.`;

const ANSWER_MS_MAX = 3_000;

export function defineDashboard(command: Command, finish: Finish): void {
  command
    .addHelpText("before", examplesText(EXAMPLES))
    .addOption(new Option("--print", "only print the address"))
    .addOption(endpointsOption())
    .addHelpText("after", NOTES)
    .action(async () => {
      const { print: printsOnly } = command.opts<{ print?: boolean }>();
      finish(await openDashboard(clusterAccessFor(command), printsOnly === true));
    });
}

async function openDashboard(access: NodeAccess, printsOnly: boolean): Promise<number> {
  const address = await findPage(access);
  print(address);
  if (!printsOnly) await openBrowser(address);
  return EXIT.done;
}

/** The given nodes come first: they are known to be reached from here. */
async function findPage(access: NodeAccess): Promise<string> {
  const tried = new Set<string>();
  const given = access.endpoints.filter((endpoint) => !endpoint.startsWith("unix:"));
  for (const endpoint of given) {
    tried.add(endpoint);
    if (await servesPage(endpoint, access)) return addressOf(endpoint);
  }
  for (const { report } of await clusterMembers(access)) {
    const { endpoint } = report;
    if (!report.isReachable || tried.has(endpoint)) continue;
    tried.add(endpoint);
    if (await servesPage(endpoint, access)) return addressOf(endpoint);
  }
  const where = [...tried].join(", ");
  throw new Failure(EXIT.noCluster, `no node serves the dashboard; tried ${where}`);
}

/** Nodes of earlier versions, and those with `--dashboard off`, answer with text. */
async function servesPage(endpoint: string, { ca, cert, key }: NodeAccess): Promise<boolean> {
  const options = {
    ...{ ...DIAL_OPTIONS, agent: false, headers: { accept: "text/html" } },
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  } as RequestOptions;
  const url = pageOf(endpoint);
  try {
    const request = (url.startsWith("https:") ? getHttps : getHttp)(url, options);
    const [response] = await once(request, "response");
    response.resume();
    return String(response.headers["content-type"]).startsWith("text/html");
  } catch (error) {
    note(`${url}: ${(error as Error).message}`);
    return false;
  }
}

function pageOf(endpoint: string): string {
  return `${endpoint.replace(/^ws/, "http").replace(/\/+$/, "")}/`;
}

/** A node may have chosen it: as a URL is written, without blanks, quotes or controls. */
function addressOf(endpoint: string): string {
  return new URL(pageOf(endpoint)).href;
}

/** Leaves the browser alone once it runs. Without a desktop, the printed address is all there is. */
async function openBrowser(address: string): Promise<void> {
  const command = openerOn(process.platform);
  if (command === undefined) return;
  const [program = "", ...before] = command;
  const child = spawn(program, [...before, address], { detached: true, stdio: "ignore" });
  try {
    await once(child, "spawn");
    child.unref();
  } catch (error) {
    note(`cannot open a browser: ${(error as Error).message}`);
  }
}

function openerOn(platform: NodeJS.Platform): readonly string[] | undefined {
  if (platform === "darwin") return ["open"];
  // Not `start`: a shell would obey an `&` in the address.
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  const hasDesktop = ["DISPLAY", "WAYLAND_DISPLAY"].some((name) => process.env[name]);
  const tool = hasDesktop ? findTool("xdg-open") : undefined;
  return tool === undefined ? undefined : [tool];
}
