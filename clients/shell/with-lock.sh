#!/bin/sh
# Runs a command while it holds a lock of a Holdfast cluster, as `holdfast run` does, with nothing but a
# POSIX shell and curl. `with-lock.sh --help` explains it.
#
# The lock ends by itself -t seconds after the last sign of life, so nothing is left behind. The command is
# killed before that, except when this script itself was killed with SIGKILL: then it goes on, extended
# until it ends.
[ -z "${ZSH_VERSION:-}" ] || emulate sh
set -u

wait=forever ttl=15 query='' grace=5 quiet='' mode=exclusive permits=1
fail() { # exit code, sentence
  [ -n "$quiet" ] || printf 'with-lock.sh: %s\n' "$2" >&2
  exit "$1"
}
help() {
  cat << 'EOT'
usage: with-lock.sh [option...] KEY -- COMMAND [argument...]

Runs a command while it holds a lock of a Holdfast cluster.

  -n          do not wait: exit code 3 if the lock is held
  -w SECONDS  wait at most so long, then exit code 124; without -n and -w it waits forever
  -t SECONDS  how long the lock outlives this script (15)
  -s          share the lock with other shared holders
  -p PERMITS  take permits of a semaphore, in place of a lock (1 with -l)
  -l LIMIT    how many permits the semaphore has; needed while it is not in use
  -k SECONDS  from SIGTERM to SIGKILL, when the lock is lost (5)
  -q          print nothing that the exit code says
  -h, --help  print this

Reads HOLDFAST_ENDPOINTS (URLs of nodes with commas; without it, this machine), HOLDFAST_ACCESS_TOKEN or
a file of it, HOLDFAST_ACCESS_TOKEN_FILE, and for https the files HOLDFAST_CA, HOLDFAST_CERT and
HOLDFAST_CERT_KEY. The command gets HOLDFAST_KEY, HOLDFAST_TOKEN (the fencing token), HOLDFAST_SLOT (the
permits, with commas) and HOLDFAST_HELD, by which a script or a `holdfast run` inside of it is refused
the same lock of the same cluster at once, with 5 (3 with -n), instead of waiting for it forever.

Exit code: the command's own, or 1 failed, 2 wrong usage, 3 held, 4 no node serves, 5 refused, 6 lost,
124 not in time, 126 and 127 no such command, 128+n ended by signal n.
EOT
  exit 0
}
refuse() { quiet='' && fail 2 "$1"; }
usage() { refuse "$1; with-lock.sh --help explains the usage"; }
number() { # option, value, least
  case $2 in '' | *[!0-9]* | ????????*) usage "$1 takes a whole number, not \"$2\"" ;; esac
  [ "$2" -ge "$3" ] || usage "$1 takes a number of at least $3"
}
while getopts :hnw:t:sp:l:k:q-: option; do
  case $option in
    h) help ;;
    n) wait=0 ;;
    w) wait=${OPTARG%s} && number -w "$wait" 0 ;;
    t) ttl=${OPTARG%s} && number -t "$ttl" 3 ;;
    s) query="$query&mode=shared" mode=shared ;;
    p) number -p "$OPTARG" 1 && query="$query&permits=$OPTARG" mode=permits permits=$OPTARG ;;
    l) number -l "$OPTARG" 1 && query="$query&limit=$OPTARG" mode=permits ;;
    k) grace=${OPTARG%s} && number -k "$grace" 0 ;;
    q) quiet=yes ;;
    -) case $OPTARG in help) help ;; *) usage "there is no option --$OPTARG" ;; esac ;;
    :) usage "-$OPTARG needs a value" ;;
    *) usage "there is no option -$OPTARG" ;;
  esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || usage 'the key is missing'
[ "${2:-}" = -- ] || usage 'after the key, -- and a command are needed'
[ $# -ge 3 ] || usage 'after --, a command is needed'
key=$1
shift 2
command -v curl > /dev/null || fail 1 'curl is not installed'
if ! command -v "$1" > /dev/null; then
  case $1 in */*) [ ! -e "$1" ] || fail 126 "$1 cannot be executed" ;; esac
  fail 127 "there is no command $1"
fi

# The time since the system was started, with sleep, where the system shows it; in hundredths of a
# second.
now() {
  if read -r up _ 2> /dev/null < /proc/uptime; then
    echo $((${up%.*} * 100 + 1${up#*.} - 100))
  else
    echo $(($(date +%s) * 100))
  fi
}
random() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }
# A member of the answer, or of a part of it: a number, or a text without escapes.
member() { # name, part
  printf '%s' "${2-$body}" |
    sed -n "s/.*\"$1\"[[:space:]]*:[[:space:]]*\"\{0,1\}\([A-Za-z0-9_-]*\).*/\1/p" | head -n 1
}
# The sentence of a refusal.
sentence() {
  body=${body#*\"detail\":\"}
  body=${body%%\",\"details\"*}
  printf '%s' "${body%\"*}"
}

owner=$(random) request=$(random)
token_file=${HOLDFAST_ACCESS_TOKEN_FILE:-}
access=${HOLDFAST_ACCESS_TOKEN:-}
[ -z "$token_file" ] || access=$(cat "$token_file") || fail 1 "cannot read $token_file"
nodes=$(printf '%s' "${HOLDFAST_ENDPOINTS:-http://127.0.0.1:7411,http://127.0.0.1:7412,http://127.0.0.1:7413}" |
  tr ',' '\n' | sed 's/^[[:space:]]*ws/http/; s/[[:space:]/]*$//')
# Clients begin with different nodes.
count=$(printf '%s\n' "$nodes" | wc -l)
at=$(($(printf '%d' "0x$(printf '%.4s' "$owner")") % count))

# Asks one node: method, path, query, seconds; about the key, if the path is under /v1. Sets http, the status ("000"
# without an answer), body, code and sent.
# What proves who may end the lock is never an argument, which every user of the machine could read.
ask() {
  node=$(printf '%s\n' "$nodes" | sed -n "$((at + 1))p")
  # A proxy may carry what TLS hides, and nothing of this machine.
  direct="localhost,127.0.0.1,::1,${no_proxy:-${NO_PROXY:-}}"
  case $node in https:*) ;; *) direct='*' ;; esac
  about="key=$key"
  case $2 in /v1/*) ;; *) about='' ;; esac
  sent=$(now)
  body=$(
    {
      printf 'header = "Holdfast-Owner: %s"\nheader = "Idempotency-Key: %s"\n' "$owner" "$request"
      [ -z "$access" ] || printf 'header = "Authorization: Bearer %s"\n' "$access"
    } | curl -q -K - -sS -G -X "$1" ${about:+--data-urlencode "$about"} ${3:+-d "$3"} -w '\n%{http_code}' \
      --connect-timeout 5 --max-time "$4" --keepalive-time 10 --noproxy "$direct" \
      ${HOLDFAST_CA:+--cacert "$HOLDFAST_CA"} ${HOLDFAST_CERT:+--cert "$HOLDFAST_CERT"} \
      ${HOLDFAST_CERT_KEY:+--key "$HOLDFAST_CERT_KEY"} "$node$2" 2> /dev/null
  )
  whole=$?
  http=${body##*
}
  body=${body%
*}
  [ "$whole" = 0 ] || http=000
  # Any other 20x comes from a proxy: it is not a success, whatever it says.
  case $http$body in 000* | 20[02]*'{'*) ;; 20*) http=299 ;; esac
  code=$(member code "${body%%\"details\"*}")
  # 409 CANCELLED: a copy of the request, which something on the way made, waits in its place.
  case $http$code in 409CANCELLED) http=503 ;; esac
  case $http in 000 | '' | 500 | 502 | 503 | 504) at=$(((at + 1) % count)) && return 1 ;; esac
}
least() { if [ "$1" -lt "$2" ]; then echo "$1"; else echo "$2"; fi; }

# Gives back what may have been granted, and leaves the queue.
give_back() { ask DELETE /v1/lock '' 5; }
leave() { # exit code, sentence
  give_back || give_back
  fail "$1" "$2"
}

signal='' child='' target='' sleeper=''
for name in HUP INT TERM; do
  # shellcheck disable=SC2064
  trap "signal=$name; [ -z \"\$child\" ] || kill -s $name -- \"\$target\" 2> /dev/null" "$name"
done
number_of() { case $1 in HUP) echo 129 ;; INT) echo 130 ;; *) echo 143 ;; esac; }

# Asks node after node, each once, until one answers.
ask_all() {
  tries=0
  until ask "$@"; do [ $((tries += 1)) -lt "$count" ] || return; done
}
# HOLDFAST_HELD names what is held around this script, one key a line: cluster, token, session, mode and key. Tokens of
# another cluster mean nothing in this one; "-" is a cluster that is not known.
strange=$(printf '%s\n' "${HOLDFAST_HELD:-}" | LC_ALL=C grep -Ev \
  '^([0-9a-f]{32}|-) [0-9]{1,16} [0-9]{1,16} (exclusive|shared|permits) .+$' | head -n 1)
[ -z "$strange" ] || refuse \
  "HOLDFAST_HELD has a line that neither holdfast run nor this script has written, so unset it: \"$strange\""
began=$(now)
ask_all GET /status '' 5
cluster=$(member clusterId)
[ "$http" = 200 ] && [ ${#cluster} = 32 ] || cluster=-
around='' # The tokens of those of this key.
while IFS= read -r line; do
  where=${line%% *} line=${line#* }
  case $cluster$where in "$where$where" | *-*) ;; *) continue ;; esac
  # A key may end with a blank.
  [ "${line#* * * }" != "$key" ] || around="$around ${line%% *}"
done << EOT
${HOLDFAST_HELD:-}
EOT
# The variable may be out of date: what counts is what the cluster shows.
if [ -n "$around" ] && ask_all GET /v1/lock '' 5 && [ "$http" = 200 ]; then
  body=${body%%\"waiters\"*}
  kind=$(member kind) limit=$(member limit) taken=0 blocked=''
  for token in $around; do
    hold=${body#*\"token\":"$token",}
    [ "$hold" != "$body" ] || continue # It has ended.
    hold=${hold%%\"token\"*}
    how=$(member mode "$hold")
    case $kind.$mode.$how in
      semaphore.permits.*)
        taken=$((taken + $(member permits "$hold")))
        [ $((taken + permits)) -le "$limit" ] || blocked=yes
        ;;
      lock.exclusive.* | lock.shared.exclusive) blocked=yes ;;
    esac
  done
  held="$key is held by the run around this one until its command ends"
  [ -z "$blocked" ] || [ "$wait" != 0 ] || fail 3 "$held"
  [ -z "$blocked" ] || fail 5 "$held: waiting would never end"
fi

failures=0
while :; do
  left=3600000
  [ "$wait" = forever ] || left=$((wait * 1000 - ($(now) - began) * 10))
  [ "$wait" = 0 ] || [ "$left" -gt 0 ] || left=1
  [ "$wait" != 0 ] || left=0
  ask PUT /v1/lock "ttl=${ttl}s&wait=$left$query" $(($(least $((left / 1000)) 45) + 6)) && failures=0 ||
    failures=$((failures + 1))
  [ -z "$signal" ] || leave "$(number_of "$signal")" "ended by SIG$signal while it waited"
  case $http in
    200) break ;;
    202) continue ;;
    000 | '' | 500 | 502 | 503 | 504)
      patience=$wait
      [ "$wait" != 0 ] || patience=10
      [ "$patience" = forever ] || [ $(($(now) - began)) -lt $((patience * 100)) ] ||
        leave 4 "no node serves${code:+: $code}"
      [ $((failures % count)) -ne 0 ] || sleep 1
      ;;
    *)
      case $code in
        LOCK_HELD) fail 3 "$key is held" ;;
        LOCK_TIMEOUT) fail 124 "$key was not free in time" ;;
        '') leave 5 "refused with status $http, by no node" ;; # It may have been granted.
        INVALID_ARGUMENT) refuse "$(sentence)" ;;
        *) fail 5 "$(sentence) ($code)" ;;
      esac
      ;;
  esac
done

token=$(member token)
case $token in '' | *[!0-9]*) leave 5 "the answer with status 200 grants no lock, so it comes from no node" ;; esac
slots=$(printf '%s' "$body" | sed -n 's/.*"slots":\[\[\([0-9,]*\)\]\].*/\1/p')
# Hundredths of a second until which the lock can be relied on, from before the request was sent.
end=$((sent + $(member trustMs) / 10))
if [ "$(now)" -ge "$end" ]; then # The grant took too long to arrive.
  ask POST /v1/lock/extend "ttl=${ttl}s" 5
  [ "$http" = 200 ] || leave 6 "$key was lost before the command began"
  end=$((sent + $(member trustMs) / 10))
fi

export HOLDFAST_KEY="$key" HOLDFAST_TOKEN="$token" HOLDFAST_SLOT="$slots" HOLDFAST_HELD="${HOLDFAST_HELD:+$HOLDFAST_HELD
}$cluster $token 0 $mode $key"
# A process group of its own, so that what the command starts is ended with it; not at a terminal, from
# which it could not read then.
group=''
[ -t 0 ] || ! command -v setsid > /dev/null || group=setsid
exec 3<&0
(
  unset HOLDFAST_ACCESS_TOKEN HOLDFAST_ACCESS_TOKEN_FILE HOLDFAST_LEASE_OWNER HOLDFAST_SESSION
  exec $group "$@" <&3 3<&-
) &
child=$!
target=${group:+-}$child

# Extends at a third of the TTL, until the command has ended; ends with 6 when the lock is lost. It stops the
# command in time, so that it is gone when another can get the lock.
extend() {
  trap 'kill "$sleeper" 2> /dev/null; exit 0' TERM
  trap '' HUP INT
  failures=0 due=$(($(now) + ttl * 100 / 3)) alive=$((end - grace * 100))
  [ $((grace * 3)) -lt $((ttl * 2)) ] || alive=$((end - ttl * 100 / 3)) # Less grace than was asked for.
  margin=$((end - alive))
  while is_running; do
    pause=$(((due - $(now) + 99) / 100))
    [ "$pause" -lt 1 ] || rest "$(least "$pause" $(((alive - $(now) + 99) / 100)))"
    if [ "$(now)" -ge "$due" ]; then
      # It waits a sixth of the TTL for an answer, so that other nodes can be asked, too.
      silence=$((ttl * 1000 / 6))
      silence=$((silence / 1000)).$(printf '%03d' $((silence % 1000)))
      failures=$((failures + 1))
      if ask POST /v1/lock/extend "ttl=${ttl}s" "$silence" && [ "$http" = 200 ]; then
        end=$((sent + $(member trustMs) / 10)) alive=$((end - margin)) due=$((sent + ttl * 100 / 3)) failures=0
      elif [ "$code" = NOT_HELD ]; then
        break
      elif [ $((failures % count)) = 0 ]; then
        due=$(($(now) + 100))
      fi
    fi
    [ "$(now)" -lt "$alive" ] || break
  done
  is_running || return 0
  trap '' TERM
  kill -s TERM -- "$target" 2> /dev/null
  stop=$(($(now) + grace * 100))
  [ "$code" = NOT_HELD ] || stop=$(least "$stop" "$end")
  while kill -s 0 -- "$target" 2> /dev/null && [ "$(now)" -lt "$stop" ]; do rest 1; done
  kill -s KILL -- "$target" 2> /dev/null
  return 6
}
is_running() { kill -0 "$child" 2> /dev/null; }
rest() {
  sleep "$1" &
  sleeper=$!
  wait "$sleeper"
}
# Nothing of it keeps a pipe open to which the command writes.
extend < /dev/null > /dev/null 2>&1 3<&- &
extender=$!

# A signal ends a wait, and not the command.
while :; do
  wait "$child"
  result=$?
  is_running || break
done
kill -s TERM "$extender" 2> /dev/null
wait "$extender"
kept=$?
child=''
tries=0
until give_back || [ $((tries += 1)) -gt "$count" ]; do :; done
[ $kept -ne 6 ] || fail 6 "$key was lost; the command was stopped"
case $http in
  200)
    # A repeat finds what an earlier request, whose answer did not arrive, has released.
    reason=$(member reason)
    [ "$(member released)" = true ] || [ "$reason" = released ] ||
      fail 6 "$key was lost before the command had ended: $reason"
    ;;
  *) [ -n "$quiet" ] || echo "with-lock.sh: $key was not released, and ends with its lease" >&2 ;;
esac
exit "$result"
