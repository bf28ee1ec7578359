/**
 * The reference page of the options, made from the table: `holdfast config reference` prints it,
 * and `docs/reference/options.md` is identical to it.
 */

import type { OptionDefinition } from "../options/option-definition.js";
import { OPTION_TABLE, type OptionSection } from "../options/option-table.js";
import { variableOf } from "../text/option-spelling.js";
import { defaultText, flagText } from "./flags.js";

const INTRODUCTION = `# Options

Made from the tables of options by \`holdfast config reference\`; changes belong in
\`bin/options/option-table.ts\`, or for \`holdfast server\` in \`src/node-options/table.ts\`.

Every option has one name in three spellings: \`--kill-grace\` is \`HOLDFAST_KILL_GRACE\` in the
environment and \`killGrace\` in a file. (Only \`tokenFile\` is \`HOLDFAST_ACCESS_TOKEN_FILE\`, because
\`HOLDFAST_TOKEN\` is the fencing token of a lock.) The first of these that has a value counts:

1. the flag (\`--endpoints\` and \`--config\` also before the name of the command),
2. the variable, unless it is empty,
3. the file that \`--config\` or \`HOLDFAST_CONFIG\` names,
4. the default.

The file is one JSON object, and one file may serve all commands: each reads its own options. A key
that no command knows is an error. A variable that begins with \`HOLDFAST_\` and looks like a
misspelling of one of those below is an error too; others are ignored, because deployment tools and
Kubernetes set variables with the same prefix.

\`\`\`json
{
  "endpoints": ["ws://10.0.0.1:7411", "ws://10.0.0.2:7411"],
  "id": 1,
  "data": "/var/lib/holdfast",
  "listen": "10.0.0.1:7411",
  "initialCluster": { "1": "10.0.0.1:7511", "2": "10.0.0.2:7511", "3": "10.0.0.3:7511" },
  "insecure": true,
  "killGrace": "10s"
}
\`\`\`

Durations and sizes have a unit: \`250ms\`, \`5s\`, \`1.5m\`, \`1h30m\`, \`30d\`; \`512KiB\`, \`64MiB\`, \`1GiB\`
(and \`kB\`, \`MB\`, \`GB\`, powers of 1,000). In a variable or a file, a switch is \`true\` or \`false\`; on a
command line, \`--insecure\` turns it on and \`--no-insecure\` turns it off. Lists are separated by commas,
or are lists in the file. An option without a variable describes one call and is only a flag:
a command that \`run\` starts inherits the environment, and must not inherit such an option.

\`holdfast config print\` shows every value and where it came from; with the name of a command and
its options, it shows what that command line would use.
`;

/** The whole page, with a line break at its end. */
export function optionsPage(): string {
  return [INTRODUCTION, ...OPTION_TABLE.map(sectionText)].join("\n");
}

function sectionText({ title, options }: OptionSection): string {
  const rows = Object.entries(options).map(([name, definition]) => row(name, definition));
  return [
    `## ${title}`,
    "",
    "| flag | variable | in a file | value | default | |",
    "|---|---|---|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}

function row(name: string, definition: OptionDefinition<unknown>): string {
  const { reach, kind, description, isRequired } = definition;
  const shown = defaultText(definition);
  const cells = [
    reach === "secret" ? "–" : flagsCell(name, definition),
    reach === "flag" ? "–" : `\`${variableOf(name)}\``,
    reach === "everywhere" || reach === "secret" ? `\`${name}\`` : "–",
    kind.type,
    isRequired ? "required" : shown,
    description,
  ];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function flagsCell(name: string, definition: OptionDefinition<unknown>): string {
  const { short, negation } = definition;
  const flag = `${short === undefined ? "" : `-${short}, `}${flagText(name, definition)}`;
  const flags = negation === undefined ? [flag] : [flag, negation.flags];
  return flags.map((text) => `\`${text}\``).join("<br>");
}
