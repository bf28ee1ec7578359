#!/usr/bin/env bash
# A cluster of three whose nodes name each other by a host that is 150 ms away and has addresses of
# two families, the second of which leads nowhere; then what `holdfast status` says of it. To be run
# in namespaces of its own (unshare -Urnm): COMMAND DIRECTORY.
set -euo pipefail
command=$1 directory=$2
here=$(dirname "$0")
printf '127.0.0.1 localhost\n10.9.0.2 far\nfd00:9::2 far\n' >"$directory/hosts"
mount --bind "$directory/hosts" /etc/hosts
coproc network { exec python3 "$here/far-network.py" 0.15; }
read -r _ <&"${network[0]}"
for id in 1 2 3; do
  node "$command" server --id $id --data "$directory/$id" --insecure \
    --listen "0.0.0.0:741$id" --advertise "ws://far:741$id" --peer-listen "0.0.0.0:751$id" \
    --initial-cluster 1=far:7511,2=far:7512,3=far:7513 >"$directory/$id.log" 2>&1 &
done
trap 'kill $(jobs -p) 2>/dev/null' EXIT
# A node says that nothing is wrong only when all three have found each other.
for _ in $(seq 60); do
  if node "$command" status --endpoints ws://far:7411 --json >"$directory/status.json" 2>"$directory/status.err" &&
    grep -q '"findings":\[\]' "$directory/status.json"; then
    break
  fi
  sleep 0.2
done
node "$command" run --endpoints ws://far:7412 -w 10s k -- echo held
cat "$directory/status.json" "$directory/status.err"
