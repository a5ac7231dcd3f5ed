#!/bin/bash
# Programs for the kernel's DCCP under dccprun against the kernel of the guest, in both directions over IP.
#
#   dccprun.sh        after `guest.sh build`; needs root, like guest.sh
#
# Both ends run the same program, dccp-peer. The guest runs it on its kernel, and this host under `dccprun --raw`.
# Prints a line for each pair, and exits with 1 if one fails.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
guest=$here/guest.sh
host4=10.33.0.1 guest4=10.33.0.2
host6=fd33:4340::1 guest6=fd33:4340::2
work=$(mktemp -d)
failed=0
export DCCP_GUEST_NAME=${DCCP_GUEST_NAME:-usrdccp-$$-dccprun}

cargo build --quiet --manifest-path "$root/Cargo.toml" -p dccprun -p dccp-preload || exit 1
gcc -O2 -o "$work/dccp-peer" "$here"/guest/{dccp-peer,messages,options,output,session}.c || exit 1
if ! "$guest" status >/dev/null 2>&1; then
	"$guest" run || exit 1
	trap '"$guest" stop; rm -r "$work"' EXIT
fi

ours() { "$guest" host "$target/debug/dccprun" --raw "$work/dccp-peer" "$@"; }
kernel() { "$guest" exec --timeout 60 -- dccp-peer "$@"; }

# pair NAME LISTENER CONNECTOR ADDRESS [OPTION...]: the connector expects 200 echoes.
pair() {
	local name=$1 listener=$2 connector=$3 address=$4
	shift 4
	"$listener" listen 5001 --bind "$address" --echo --conns 1 --timeout 40 "$@" >"$work/listen" &
	local pid=$!
	for _ in $(seq 100); do
		grep -q listening "$work/listen" && break
		sleep 0.1
	done
	"$connector" connect "$address" 5001 --echo --count 200 --rate 200 --timeout 40 "$@" >"$work/connect"
	local status=$?
	wait "$pid"
	if [ $status = 0 ] && grep -q '"received":200,"lost":0' "$work/connect"; then
		echo "ok    $name"
	else
		echo "FAIL  $name"
		cat "$work/listen" "$work/connect"
		failed=1
	fi
}

pair "kernel listens, IPv4" kernel ours "$guest4"
pair "kernel connects, IPv4" ours kernel "$host4"
pair "kernel listens, IPv6" kernel ours "$guest6"
pair "kernel connects, IPv6" ours kernel "$host6"
pair "kernel listens, CCID 3, Service Code" kernel ours "$guest4" --ccid 3 --service SC:VIDE
pair "kernel connects, CCID 3, Service Code" ours kernel "$host4" --ccid 3 --service SC:VIDE
exit $failed
