/**
 * The shell scripts that ask `holdfast __complete`: how they find the words of the line, and what
 * they do with each kind of answer (see `candidates.ts`). They must know no command and no flag,
 * because a script may have been saved when an older version was installed.
 */

/**
 * Version 3.2 and newer. Needs nothing but bash; with the package bash-completion, the command
 * after `--` is completed as it would be on its own. bash splits words at `=` and `:`; here they
 * are joined again without their backslashes, and the part of a word that readline keeps is removed
 * from each reply.
 */
const BASH = String.raw`
# Completion of holdfast for bash. Load it with: source <(holdfast completion bash)

_holdfast() {
  local line=\${COMP_LINE:0:COMP_POINT} words=() word rest cur kept='' wanted='' reply i
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    rest="\${line#"\${line%%[![:space:]]*}"}"
    if ((i == COMP_CWORD)); then word=$rest; fi
    if ((i > 0)) && [[ $rest == "$line" ]]; then
      words[\${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
    line=\${rest:\${#word}}
  done
  words=("\${words[@]//\\/}")
  cur=\${words[\${#words[@]} - 1]}
  if [[ $COMP_WORDBREAKS == *[=:]* ]]; then kept=\${cur%"\${cur##*[=:]}"}; fi
  COMPREPLY=()
  while IFS= read -r reply; do
    reply=\${reply%%$'\t'*}
    if [[ -z $wanted ]]; then
      wanted=$reply
    elif [[ $reply == "$cur"* ]]; then
      printf -v reply %q "\${reply#"$kept"}"
      COMPREPLY+=("$reply")
    fi
  done < <(command holdfast __complete "\${words[@]:1}" 2>/dev/null)
  case $wanted in
    files) _holdfast_files -f ;;
    directories) _holdfast_files -d ;;
    command) _holdfast_command ;;
  esac
}

_holdfast_files() {
  local IFS=$'\n'
  COMPREPLY+=($(compgen $1 -- "\${cur#--*=}"))
  type compopt >/dev/null 2>&1 && compopt -o filenames 2>/dev/null
}

_holdfast_command() {
  if declare -F _command_offset >/dev/null; then
    for ((i = 1; i < COMP_CWORD; i++)); do
      if [[ \${COMP_WORDS[i]} == -- ]]; then _command_offset $((i + 1)); return; fi
    done
  fi
  if [[ \${COMP_WORDS[COMP_CWORD - 1]} == -- ]]; then COMPREPLY=($(compgen -c -- "$cur")); fi
  _holdfast_files -f
}

complete -F _holdfast holdfast`;

/** Works sourced, and as a file `_holdfast` in `fpath`. */
const ZSH = String.raw`
#compdef holdfast
# Completion of holdfast for zsh. Load it with: source <(holdfast completion zsh)

_holdfast() {
  local reply name
  local -a typed=("\${(@Q)words}") replies described
  replies=("\${(@f)$(
    command holdfast __complete "\${(@)typed[2,CURRENT - 1]}" "\${(Q)PREFIX}" 2>/dev/null
  )}")
  case $replies[1] in
    words)
      for reply in "\${(@)replies[2,-1]}"; do
        name=\${reply%%$'\t'*}
        described+=("\${name//:/\\:}\${\${reply#"$name"}/$'\t'/:}")
      done
      _describe holdfast described ;;
    files) compset -P 1 '--*='; _files ;;
    directories) compset -P 1 '--*='; _files -/ ;;
    command)
      local -i dashes=\${typed[(ie)--]}
      shift $dashes words
      ((CURRENT -= dashes))
      _normal ;;
  esac
}

if [[ \${funcstack[1]} == _holdfast ]]; then
  _holdfast "$@"
else
  compdef _holdfast holdfast
fi`;

const FISH = String.raw`
# Completion of holdfast for fish. Load it with: holdfast completion fish | source

function __holdfast_complete
    command -q holdfast; or return
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    # If a quotation is still open: what follows the quote.
    set -l typed (string unescape -- "$word"; or string sub -s 2 -- "$word")
    set -l replies (command holdfast __complete $words[2..-1] "$typed" 2>/dev/null)
    set -l flag (string match -r -- '^--[^=]*=' "$typed")
    set -l value (string replace -- "$flag" '' "$typed")
    switch "$replies[1]"
        case words
            printf '%s\n' $replies[2..-1]
        case files
            printf '%s\n' "$flag"(__fish_complete_path "$value")
        case directories
            printf '%s\n' "$flag"(__fish_complete_directories "$value")
        case command
            set -l dashes (contains -i -- -- $words)
            set -l line (string escape -- $words[(math $dashes + 1)..-1]) "$word"
            complete -C "$line"
    end
end

complete -c holdfast -f -a '(__holdfast_complete)'`;

export const SHIMS = Object.freeze({ bash: shim(BASH), zsh: shim(ZSH), fish: shim(FISH) });

/** Without the backslashes that protect the shell's `${…}` from this language. */
function shim(text: string): string {
  return text.trim().replaceAll("\\$", "$");
}
