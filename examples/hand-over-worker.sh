#!/bin/sh
# Goes on with the lock $1, which was handed over to the owner in HOLDFAST_LEASE_OWNER: by the command
# line, and by HTTP at the node in HOLDFAST. Each step first makes sure that the lock outlasts it.
set -eu

# In a project that has Holdfast as a package, and in a checkout, the command is not on the PATH.
command -v holdfast > /dev/null || holdfast() { npx holdfast "$@"; }

# Exit code 6 if the lock is gone: then nothing below is done. The token that this prints is for what
# the worker writes to: it refuses an older one, so what the program still writes comes to nothing.
holdfast lease extend "$1" --ttl 60s

# From the standard input, because others see the arguments of a command.
printf 'Holdfast-Owner: %s\n' "$HOLDFAST_LEASE_OWNER" |
  curl --silent --show-error --fail --header @- \
    --request POST "$HOLDFAST/v1/lock/extend?key=$1&ttl=60s"

holdfast lease release "$1"
