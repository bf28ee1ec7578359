/**
 * The completion script for zsh: one function for each command, by `_arguments`. Works sourced, and
 * as a file `_holdfast` in `fpath`.
 */
import { allCommands, type CompletedCommand, type CompletedFlag, type Wanted } from "./model.js";

const KEYS = String.raw`
_holdfast_keys() {
  local -a keys
  keys=(\${(f)"$(command holdfast ls --names --connect-timeout 500ms -- "\${(Q)PREFIX}" 2>/dev/null)"})
  compadd -a keys
}

_holdfast_behind_dashes() {
  local -i at=\${words[(ie)--]}
  ((at < CURRENT)) || return 1
  shift $at words
  ((CURRENT -= at))
  _normal
}`.replaceAll("\\$", "$");

const END = String.raw`
if [[ \${funcstack[1]} == _holdfast ]]; then
  _holdfast "$@"
else
  compdef _holdfast holdfast
fi`.replaceAll("\\$", "$");

export function zshCompletion(program: CompletedCommand): string {
  return [
    "#compdef holdfast",
    "# Completion of holdfast for zsh. Load it with: source <(holdfast completion zsh)",
    KEYS,
    ...allCommands(program).flatMap(functionLines),
    END,
    "",
  ].join("\n");
}

function functionLines(command: CompletedCommand): string[] {
  const lines = ["", `${nameOf(command.path)}() {`];
  if (command.runsCommand) lines.push("  _holdfast_behind_dashes && return");
  if (command.commands.length === 0) {
    lines.push(
      "  _arguments -s \\",
      ...command.flags.map(flagLine),
      `    ${operandText(command.operand)}`,
    );
  } else {
    lines.push(
      '  local curcontext="$curcontext" state line',
      "  typeset -A opt_args",
      "  _arguments -s -C \\",
      ...command.flags.map(flagLine),
      "    '1: :->command' '*:: :->rest'",
      "  case $state in",
      "    command)",
      "      local -a commands=(",
      ...command.commands.map(({ path, summary }) => {
        return `        ${quoted(`${path.at(-1)}:${summary.replaceAll(":", "\\:")}`)}`;
      }),
      "      )",
      "      _describe command commands ;;",
      "    rest)",
      "      case $line[1] in",
      ...command.commands.map(({ path }) => `        ${path.at(-1)}) ${nameOf(path)} ;;`),
      "      esac ;;",
      "  esac",
    );
  }
  return [...lines, "}"];
}

function flagLine({ names, summary, value }: CompletedFlag): string {
  const about = `[${summary.replaceAll(/[[\]:\\]/g, "\\$&")}]`;
  const behind = value === undefined ? "" : `:value:${actionOf(value)}`;
  const specs = names.map((name) => {
    const takes = value === undefined ? "" : name.startsWith("--") ? "=" : "+";
    return quoted(`(${names.join(" ")})${name}${takes}${about}${behind}`);
  });
  return `    ${specs.join(" ")} \\`;
}

function operandText(wanted: Wanted): string {
  return wanted.kind === "nothing" ? "&& return" : quoted(`*:value:${actionOf(wanted)}`);
}

function actionOf(wanted: Wanted): string {
  switch (wanted.kind) {
    case "words":
      return `(${wanted.words.join(" ")})`;
    case "file":
      return "_files";
    case "directory":
      return "_files -/";
    case "key":
      return "_holdfast_keys";
    default:
      return " ";
  }
}

function nameOf(path: readonly string[]): string {
  return ["_holdfast", ...path.map((word) => `_${word}`)].join("");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
