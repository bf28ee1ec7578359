#!/bin/sh
# Runs a command while it holds a lock of a Holdfast cluster, as `holdfast run` does, with nothing but a
# POSIX shell and curl:
#
#   with-lock.sh [-n | -w SECONDS] [-t SECONDS] [-s] [-p PERMITS] [-l LIMIT] [-k SECONDS] [-q] KEY -- COMMAND [ARGUMENT...]
#
#   -n  do not wait: exit code 3 if the lock is held     -w  wait so long, then exit code 124
#   -t  how long the lock outlives this script (15)      -s  share the lock with other shared holders
#   -p, -l  take permits of a semaphore with a limit     -k  seconds from SIGTERM to SIGKILL when it is lost (5)
#   -q  print nothing that the exit code says
#
# HOLDFAST_ENDPOINTS: nodes, with commas. HOLDFAST_ACCESS_TOKEN, or a file of it: HOLDFAST_ACCESS_TOKEN_FILE.
# HOLDFAST_CA, HOLDFAST_CERT, HOLDFAST_CERT_KEY: for https. The command gets HOLDFAST_KEY and HOLDFAST_TOKEN, the
# fencing token, and HOLDFAST_HELD, by which a script or a run inside of it is refused the same lock at once, with 5
# (3 with -n), instead of waiting for it forever. Exit code: the command's own, or 1 failed, 2 wrong usage, 3 held,
# 4 no node serves, 5 refused, 6 lost, 124 not in time, 126 and 127 no such command, 128+n ended by signal n.
#
# The lock ends by itself -t seconds after the last sign of life, so nothing is left behind. The command is
# killed before that, except when this script itself was killed with SIGKILL: then it goes on, extended
# until it ends.
set -u

wait=forever ttl=15 query='' grace=5 quiet='' mode=exclusive
fail() { # exit code, sentence
  [ -n "$quiet" ] || printf 'with-lock.sh: %s\n' "$2" >&2
  exit "$1"
}
usage() { quiet='' && fail 2 "$1; usage: with-lock.sh [-n | -w seconds] [-t seconds] [-s] key -- command"; }
number() { # option, value, least
  case $2 in '' | *[!0-9]* | ????????*) usage "$1 takes a whole number" ;; esac
  [ "$2" -ge "$3" ] || usage "$1 takes a number of at least $3"
}
while getopts nw:t:sp:l:k:q option; do
  case $option in
    n) wait=0 ;;
    w) wait=${OPTARG%s} && number -w "$wait" 0 ;;
    t) ttl=${OPTARG%s} && number -t "$ttl" 3 ;;
    s) query="$query&mode=shared" mode=shared ;;
    p) number -p "$OPTARG" 1 && query="$query&permits=$OPTARG" mode=permits ;;
    l) number -l "$OPTARG" 1 && query="$query&limit=$OPTARG" mode=permits ;;
    k) grace=${OPTARG%s} && number -k "$grace" 0 ;;
    q) quiet=yes ;;
    *) usage 'an option is not known' ;;
  esac
done
shift $((OPTIND - 1))
[ $# -ge 3 ] && [ "$2" = -- ] || usage 'a key, -- and a command are needed'
key=$1
shift 2
command -v curl > /dev/null || fail 1 'curl is not installed'
command -v "$1" > /dev/null || fail 127 "there is no command $1"

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
# A member of the answer: a number, or a text without escapes.
member() { printf '%s' "$body" | sed -n "s/.*\"$1\"[[:space:]]*:[[:space:]]*\"\{0,1\}\([A-Za-z0-9_-]*\).*/\1/p" | head -n 1; }

owner=$(random) request=$(random)
token_file=${HOLDFAST_ACCESS_TOKEN_FILE:-}
access=${HOLDFAST_ACCESS_TOKEN:-}
[ -z "$token_file" ] || access=$(cat "$token_file") || fail 1 "cannot read $token_file"
nodes=$(printf '%s' "${HOLDFAST_ENDPOINTS:-http://127.0.0.1:7411,http://127.0.0.1:7412,http://127.0.0.1:7413}" |
  tr ',' '\n' | sed 's/^[[:space:]]*ws/http/; s/[[:space:]/]*$//')
# Clients begin with different nodes.
count=$(printf '%s\n' "$nodes" | wc -l)
at=$(($(printf '%d' "0x$(printf '%.4s' "$owner")") % count))

# Asks one node: method, path, query, seconds. Sets status ("000" without an answer), body and sent.
# What proves who may end the lock is never an argument, which every user of the machine could read.
ask() {
  node=$(printf '%s\n' "$nodes" | sed -n "$((at + 1))p")
  # A proxy may carry what TLS hides, and nothing of this machine.
  direct="localhost,127.0.0.1,::1,${no_proxy:-${NO_PROXY:-}}"
  case $node in https:*) ;; *) direct='*' ;; esac
  sent=$(now)
  body=$(
    {
      printf 'header = "Holdfast-Owner: %s"\nheader = "Idempotency-Key: %s"\n' "$owner" "$request"
      [ -z "$access" ] || printf 'header = "Authorization: Bearer %s"\n' "$access"
    } | curl -q -K - -sS -G -X "$1" --data-urlencode "key=$key" ${3:+-d "$3"} -w '\n%{http_code}' \
      --connect-timeout 5 --max-time "$4" --keepalive-time 10 --noproxy "$direct" \
      ${HOLDFAST_CA:+--cacert "$HOLDFAST_CA"} ${HOLDFAST_CERT:+--cert "$HOLDFAST_CERT"} \
      ${HOLDFAST_CERT_KEY:+--key "$HOLDFAST_CERT_KEY"} "$node$2" 2> /dev/null
  )
  whole=$?
  status=${body##*
}
  body=${body%
*}
  [ "$whole" = 0 ] || status=000
  # Any other 20x comes from a proxy: it is not a success, whatever it says.
  case $status$body in 000* | 20[02]*{*) ;; 20*) status=299 ;; esac
  code=$(body=${body%%\"details\"*} && member code)
  # 409 CANCELLED: a copy of the request, which something on the way made, waits in its place.
  case $status$code in 409CANCELLED) status=503 ;; esac
  case $status in 000 | '' | 500 | 502 | 503 | 504) at=$(((at + 1) % count)) && return 1 ;; esac
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

# Whether a hold of that token is in the way of this script until its command ends. HOLDFAST_HELD names what is held
# around it, one key a line: cluster, token, session, mode, key. It may be out of date: what counts is what the cluster
# shows. This script does not know its cluster, and so writes "-".
is_held_around() { # token, mode, key
  [ "$3" = "$key" ] && [ "$mode$2" != sharedshared ] && [ "$mode" != permits ] && [ "$2" != permits ] || return 1
  tries=0
  until ask GET /v1/lock '' 5 || [ $((tries += 1)) -ge "$count" ]; do :; done
  case $status${body%%\"waiters\"*} in 200*\"token\":"$1"[!0-9]*) ;; *) return 1 ;; esac
}
while IFS= read -r line; do
  # A key may end with a blank.
  line=${line#* }
  held=${line%% *} line=${line#* } line=${line#* }
  how=${line%% *} what=${line#* }
  is_held_around "$held" "$how" "$what" || continue
  [ "$wait" != 0 ] || fail 3 "$key is held by the run around this one until its command ends"
  fail 5 "$key is held by the run around this one until its command ends: waiting would never end"
done << EOT
${HOLDFAST_HELD:-}
EOT

began=$(now) failures=0
while :; do
  left=3600000
  [ "$wait" = forever ] || left=$((wait * 1000 - ($(now) - began) * 10))
  [ "$wait" = 0 ] || [ "$left" -gt 0 ] || left=1
  [ "$wait" != 0 ] || left=0
  ask PUT /v1/lock "ttl=${ttl}s&wait=$left$query" $(($(least $((left / 1000)) 45) + 6)) && failures=0 ||
    failures=$((failures + 1))
  [ -z "$signal" ] || leave "$(number_of "$signal")" "ended by SIG$signal while it waited"
  case $status in
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
        '') leave 5 "refused with status $status, by no node" ;; # It may have been granted.
        *) fail 5 "refused with status $status: $code" ;;
      esac
      ;;
  esac
done

token=$(member token)
# Hundredths of a second until which the lock can be relied on, from before the request was sent.
end=$((sent + $(member trustMs) / 10))
if [ "$(now)" -ge "$end" ]; then # The grant took too long to arrive.
  ask POST /v1/lock/extend "ttl=${ttl}s" 5 && [ "$status" = 200 ] || leave 6 "$key was lost before the command began"
  end=$((sent + $(member trustMs) / 10))
fi

export HOLDFAST_KEY="$key" HOLDFAST_TOKEN="$token" HOLDFAST_HELD="${HOLDFAST_HELD:+$HOLDFAST_HELD
}- $token 0 $mode $key"
# A process group of its own, so that what the command starts is ended with it; not at a terminal, from
# which it could not read then.
group=''
[ -t 0 ] || ! command -v setsid > /dev/null || group=setsid
exec 3<&0
(
  unset HOLDFAST_ACCESS_TOKEN HOLDFAST_ACCESS_TOKEN_FILE
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
      if ask POST /v1/lock/extend "ttl=${ttl}s" "$silence" && [ "$status" = 200 ]; then
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
case $status in
  200)
    # A repeat finds what an earlier request, whose answer did not arrive, has released.
    reason=$(member reason)
    [ "$(member released)" = true ] || [ "$reason" = released ] ||
      fail 6 "$key was lost before the command had ended: $reason"
    ;;
  *) [ -n "$quiet" ] || echo "with-lock.sh: $key was not released, and ends with its lease" >&2 ;;
esac
exit "$result"
