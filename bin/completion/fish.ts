/**
 * The completion script for fish: one `complete` for each command and flag, under the condition that
 * the command line has led there.
 */
import { allCommands, type CompletedCommand, type CompletedFlag, type Wanted } from "./model.js";

const LOGIC = `
function __holdfast_path
    set -l path
    set -l skip 0
    for token in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        set -l joined (string join ' ' -- $path $token)
        switch $token
            case --
                set path $path --
                break
            case '-*'
                if contains -- "$joined" $__holdfast_takers
                    set skip 1
                end
            case '*'
                if contains -- "$joined" $__holdfast_commands
                    set path $path $token
                end
        end
    end
    string join ' ' -- $path
end

function __holdfast_at
    test "$(__holdfast_path)" = "$argv[1]"
end

function __holdfast_keys
    command holdfast ls --names --connect-timeout 500ms -- (commandline -ct) 2>/dev/null
end

function __holdfast_directories
    set -l typed (string escape -- (commandline -ct))
    complete -C "__holdfast_directories $typed" | string replace -r '\\t.*' '' | string match '*/'
end

function __holdfast_behind_dashes
    set -l tokens (commandline -opc)
    set -l at (contains -i -- -- $tokens); or return
    set -l line (string escape -- $tokens[(math $at + 1)..-1]) (commandline -ct)
    complete -C "$line"
end

complete -c holdfast -f`;

export function fishCompletion(program: CompletedCommand): string {
  const commands = allCommands(program);
  const takers = commands.flatMap(({ path, flags }) =>
    flags
      .filter(({ value }) => value !== undefined)
      .flatMap(({ names }) => names.map((name) => [...path, name].join(" "))),
  );
  const paths = commands.flatMap(({ path }) => (path.length === 0 ? [] : [path.join(" ")]));
  return [
    "# Completion of holdfast for fish. Load it with: holdfast completion fish | source",
    "",
    `set -g __holdfast_commands ${paths.map(quoted).join(" ")}`,
    `set -g __holdfast_takers ${takers.map(quoted).join(" ")}`,
    LOGIC,
    ...commands.flatMap(commandLines),
    "",
  ].join("\n");
}

function commandLines(command: CompletedCommand): string[] {
  const path = command.path.join(" ");
  const at = `-n ${quoted(`__holdfast_at ${quoted(path)}`)}`;
  const lines = command.commands.map(({ path: below, summary }) => {
    return `complete -c holdfast ${at} -a ${quoted(below.at(-1) ?? "")} -d ${quoted(summary)}`;
  });
  const operand = wantedText(command.operand);
  if (operand !== "") lines.push(`complete -c holdfast ${at} ${operand}`);
  lines.push(...command.flags.map((flag) => `complete -c holdfast ${at} ${flagText(flag)}`));
  if (command.runsCommand) {
    const behind = `-n ${quoted(`__holdfast_at ${quoted(`${path} --`)}`)}`;
    lines.push(`complete -c holdfast ${behind} -a '(__holdfast_behind_dashes)'`);
  }
  return lines;
}

function flagText({ names, summary, value }: CompletedFlag): string {
  const texts = names.map((name) =>
    name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
  );
  if (value !== undefined) texts.push(value.kind === "file" ? "-r" : "-x", wantedText(value));
  return [...texts.filter((text) => text !== ""), "-d", quoted(summary)].join(" ");
}

function wantedText(wanted: Wanted): string {
  switch (wanted.kind) {
    case "words":
      return `-a ${quoted(wanted.words.join(" "))}`;
    case "file":
      return "-F";
    case "directory":
      return "-a '(__holdfast_directories)'";
    case "key":
      return "-a '(__holdfast_keys)'";
    default:
      return "";
  }
}

/** Inside single quotes fish knows two escapes. */
function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
