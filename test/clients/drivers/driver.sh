#!/bin/sh
# Plays the client's part of one transcript with the recipe for shells, and prints what it reports. Its arguments are
# "hold" or "end", and then the arguments of the recipe before the command.
until=$1
shift
# shellcheck disable=SC2016
"$HOLDFAST_RECIPE" -q "$@" -- sh -c '
  printf "{\"token\":%s}\n" "$HOLDFAST_TOKEN"
  [ "$0" = end ] || read -r told
' "$until"
case $? in
  0) outcome=released ;;
  3) outcome=LOCK_HELD ;;
  4) outcome=UNAVAILABLE ;;
  5) outcome=REFUSED ;;
  6) outcome=lost ;;
  124) outcome=LOCK_TIMEOUT ;;
  *) outcome=FAILED ;;
esac
printf '{"outcome":"%s"}\n' "$outcome"
