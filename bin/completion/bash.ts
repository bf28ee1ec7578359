/**
 * The completion script for bash, 3.2 and newer: tables of words made from the definitions, and one
 * function that knows where in the command line it is. Needs nothing but bash; with the package
 * bash-completion the command behind `--` is completed as well as it would be on its own.
 */
import { allCommands, type CompletedCommand, type Wanted } from "./model.js";

/**
 * bash splits words at `=` and `:`; here they are put together again, and what readline keeps of a
 * word is cut off each reply.
 */
const LOGIC = String.raw`
_holdfast_keys() {
  local key
  while IFS= read -r key; do
    if [[ $key == "$cur"* ]]; then COMPREPLY+=("$(printf %q "$key")"); fi
  done < <(command holdfast ls --names --connect-timeout 500ms -- "$cur" 2>/dev/null)
}

_holdfast_words() {
  local line=\${COMP_LINE:0:COMP_POINT} word i
  words=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    local rest="\${line#"\${line%%[![:space:]]*}"}"
    if ((i == COMP_CWORD)); then word=$rest; fi
    if ((i > 0)) && [[ $rest == "$line" ]]; then
      words[\${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
    line=\${rest:\${#word}}
  done
}

_holdfast_offer() {
  local IFS=$' \t\n'
  case $1 in
    key) _holdfast_keys ;;
    file | directory)
      IFS=$'\n'
      local action=-f
      if [[ $1 == directory ]]; then action=-d; fi
      COMPREPLY=($(compgen $action -- "$cur"))
      type compopt >/dev/null 2>&1 && compopt -o filenames 2>/dev/null
      ;;
    words:*) COMPREPLY=($(compgen -W "\${1#words:}" -- "$cur")) ;;
  esac
}

_holdfast_behind_dashes() {
  if declare -F _command_offset >/dev/null; then
    local i
    for ((i = 1; i < COMP_CWORD; i++)); do
      if [[ \${COMP_WORDS[i]} == -- ]]; then _command_offset $((i + 1)); return; fi
    done
  fi
  local IFS=$'\n'
  if [[ \${words[last - 1]} == -- ]]; then COMPREPLY=($(compgen -c -- "$cur")); fi
  COMPREPLY+=($(compgen -f -- "$cur"))
  type compopt >/dev/null 2>&1 && compopt -o filenames 2>/dev/null
}

_holdfast() {
  COMPREPLY=()
  local words last cur word path='' operands=0 valued='' i
  local commands flags takers operand runs
  _holdfast_words
  last=$((\${#words[@]} - 1))
  cur=\${words[last]}
  _holdfast_table ''
  for ((i = 1; i < last; i++)); do
    word=\${words[i]}
    valued=''
    if [[ $word == -- ]]; then
      if [[ -n $runs ]]; then _holdfast_behind_dashes; return; fi
      operands=1
    elif [[ $word == --*=* ]]; then
      :
    elif [[ $word == -* ]]; then
      if [[ " $takers " == *" $word "* ]]; then valued=$word; i=$((i + 1)); fi
    elif [[ $operands == 0 && " $commands " == *" $word "* ]]; then
      path="\${path:+$path }$word"
      _holdfast_table "$path"
    else
      operands=$((operands + 1))
    fi
  done
  if [[ -n $valued && $i == $((last + 1)) ]]; then
    _holdfast_offer "$(_holdfast_value "$path" "$valued")"
  elif [[ $cur == --*=* ]]; then
    valued=\${cur%%=*}
    cur=\${cur#*=}
    _holdfast_offer "$(_holdfast_value "$path" "$valued")"
  elif [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [[ -n $commands && $operands == 0 ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$cur"))
  else
    _holdfast_offer "$operand"
  fi
  local kept=\${cur%"\${cur##*[=:]}"}
  if [[ -n $kept && $COMP_WORDBREAKS == *[=:]* ]]; then
    for ((i = 0; i < \${#COMPREPLY[@]}; i++)); do COMPREPLY[i]=\${COMPREPLY[i]#"$kept"}; done
  fi
}

complete -F _holdfast holdfast`.replaceAll("\\$", "$");

export function bashCompletion(program: CompletedCommand): string {
  const commands = allCommands(program);
  return [
    "# Completion of holdfast for bash. Load it with: source <(holdfast completion bash)",
    "",
    "_holdfast_table() {",
    "  commands='' flags='' takers='' operand='' runs=''",
    "  case $1 in",
    ...commands.map(tableLine),
    "  esac",
    "}",
    "",
    "_holdfast_value() {",
    '  case "$1 $2" in',
    ...commands.flatMap(valueLines),
    "  esac",
    "}",
    LOGIC.trimEnd(),
    "",
  ].join("\n");
}

function tableLine({ path, commands, flags, operand, runsCommand }: CompletedCommand): string {
  const names = commands.map((command) => command.path.at(-1));
  const all = flags.flatMap((flag) => flag.names);
  const takers = flags.flatMap((flag) => (flag.value === undefined ? [] : flag.names));
  const parts = [
    `commands=${quoted(names.join(" "))}`,
    `flags=${quoted(all.join(" "))}`,
    `takers=${quoted(takers.join(" "))}`,
    `operand=${quoted(wantedText(operand))}`,
    `runs=${quoted(runsCommand ? "yes" : "")}`,
  ];
  return `    ${quoted(path.join(" "))}) ${parts.join(" ")} ;;`;
}

/** Flags whose value is of a known kind. */
function valueLines({ path, flags }: CompletedCommand): string[] {
  return flags.flatMap(({ names, value }) => {
    if (value === undefined || wantedText(value) === "") return [];
    const cases = names.map((name) => quoted(`${path.join(" ")} ${name}`));
    return [`    ${cases.join(" | ")}) echo ${quoted(wantedText(value))} ;;`];
  });
}

function wantedText(wanted: Wanted): string {
  if (wanted.kind === "words") return `words:${wanted.words.join(" ")}`;
  return wanted.kind === "nothing" || wanted.kind === "anything" ? "" : wanted.kind;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
