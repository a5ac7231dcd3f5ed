#!/bin/bash
# A guest with the Linux kernel's DCCP, as an independent peer for tests.
#
#   guest.sh build               fetch Debian's kernel, make the initramfs
#   guest.sh run                 boot; the guest is on a tap device in its own
#                                network namespace
#   guest.sh exec [--timeout S] [--stdin] -- COMMAND [ARG...]
#                                run a command in the guest
#   guest.sh sh [--timeout S] 'SHELL COMMANDS'
#                                run shell commands in the guest
#   guest.sh host COMMAND [ARG...]
#                                run a command in the network namespace at the
#                                host's end of the tap
#   guest.sh env                 print the names and addresses in use
#   guest.sh status | stop
#   guest.sh clean               stop the guests of test runs that were killed
#
# Needs root, and on Debian 12: qemu-system-x86 busybox-static dash cpio kmod
# iproute2 gcc libc6-dev python3.
#
# Environment (defaults in brackets):
#   DCCP_GUEST_BUILD    where everything is built [~/.cache/usrdccp/linux-guest]
#   DCCP_GUEST_NAME     name of the guest and of its namespace [usrdccp]
#   DCCP_GUEST_KERNEL   Debian package, or a .deb file, of the kernel
#                       [what linux-image-amd64 depends on]
#   DCCP_GUEST_ACCEL    QEMU accelerator [tcg]
#   DCCP_GUEST_CPUS, DCCP_GUEST_MEM   [1], [512] MiB
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BUILD=${DCCP_GUEST_BUILD:-${XDG_CACHE_HOME:-$HOME/.cache}/usrdccp/linux-guest}
NAME=${DCCP_GUEST_NAME:-usrdccp}
RUN=$BUILD/run-$NAME
CHANNELS=6

NETNS=$NAME
TAP=tap0			# its name inside $NETNS
HOST4=10.33.0.1 GUEST4=10.33.0.2
HOST6=fd33:4340::1 GUEST6=fd33:4340::2

MODULES="virtio_pci virtio_net virtio_console dccp dccp_ipv4 dccp_ipv6 sch_netem"
PROGRAMS="ip tc"

die() { echo "guest.sh: $*" >&2; exit 1; }

# --- build -----------------------------------------------------------------

kernel_package() {	# the name of Debian's current one
	apt-cache depends linux-image-amd64 2>/dev/null |
		sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n1
}

fetch_kernel() {	# sets $deb
	local package=${DCCP_GUEST_KERNEL:-$(kernel_package)}
	if [ -f "$package" ]; then
		deb=$package
		return
	fi
	if [ -z "$package" ]; then
		echo "apt-get update, for the name of the kernel's package"
		apt-get -q update >/dev/null
		package=$(kernel_package)
	fi
	[[ $package == linux-image-6.1.0-* ]] ||
		die "kernel package '$package' is not Debian 12's 6.1 (set DCCP_GUEST_KERNEL)"
	mkdir -p "$BUILD/deb"
	deb=$(ls "$BUILD/deb/$package"_*.deb 2>/dev/null | tail -n1) || true
	if [ -z "$deb" ]; then
		echo "downloading $package, 70 MB"
		download "$package" || { apt-get -q update >/dev/null; download "$package"; }
		deb=$(ls "$BUILD/deb/$package"_*.deb | tail -n1)
	fi
}

download() {	# (A warning that "_apt" may not write here is harmless.)
	(cd "$BUILD/deb" && apt-get -q download "$1") >/dev/null 2>&1
}

# A bzImage holds the kernel as an XZ stream. TCG takes seconds to unpack it,
# so this is done here; QEMU boots the plain ELF file (through its PVH entry).
unpack_vmlinux() {	# BZIMAGE OUTPUT
	python3 - "$1" "$2" <<'PY'
import lzma, struct, sys
image = open(sys.argv[1], "rb").read()
assert image[0x202:0x206] == b"HdrS", "not a bzImage"
setup = (image[0x1f1] or 4) + 1
offset, length = struct.unpack_from("<II", image, 0x248)
payload = image[setup * 512 + offset:][:length]
open(sys.argv[2], "wb").write(lzma.LZMADecompressor().decompress(payload))
PY
}

copy_program() {	# PROGRAM ROOT PATH-IN-GUEST: with the libraries it needs
	local path file
	path=$(command -v "$1") || die "no $1 on this machine"
	install -D "$(readlink -f "$path")" "$2$3"
	ldd "$path" | grep -o '/[^ ]*' | while read -r file; do
		[ -e "$2$file" ] || install -D "$(readlink -f "$file")" "$2$file"
	done
}

build() {
	local deb kernel root=$BUILD/root version f m
	mkdir -p "$BUILD"
	exec 9>"$BUILD/lock"	# one at a time
	flock 9
	if [ -f "$BUILD/initrd" ] && [ -f "$BUILD/vmlinux" ] &&
		[ -z "$(find "$here" -newer "$BUILD/initrd" -type f)" ]; then
		return		# nothing has changed since
	fi
	fetch_kernel
	kernel=$BUILD/kernel-$(basename "$deb" .deb)
	if [ ! -f "$kernel/vmlinux" ]; then
		rm -rf "$kernel"
		dpkg -x "$deb" "$kernel"
		unpack_vmlinux "$kernel"/boot/vmlinuz-* "$kernel/vmlinux.part"
		mv "$kernel/vmlinux.part" "$kernel/vmlinux"
	fi
	version=$(ls "$kernel/lib/modules")
	[ -f "$kernel/lib/modules/$version/modules.dep" ] || depmod -b "$kernel" "$version"

	rm -rf "$root"
	mkdir -p "$root"/{bin,sbin,etc,usr/local/bin}
	cp /bin/busybox "$root/bin/busybox"
	ln -s ../bin/busybox "$root/sbin/modprobe"	# for the kernel's own requests
	# Debian's busybox shell prefers its applets (ip, tc) to the PATH.
	copy_program dash "$root" /bin/sh
	install -m 755 "$here/guest/init.sh" "$root/init"
	gcc -Wall -Wextra -O2 -static -o "$root/usr/local/bin/agent" "$here/guest/agent.c"
	gcc -Wall -Wextra -O2 -static -o "$root/usr/local/bin/dccp-peer" \
		"$here"/guest/{dccp-peer,options,session,messages,output}.c
	for f in $PROGRAMS; do copy_program "$f" "$root" "/usr/local/bin/$f"; done

	# The listed modules with all they depend on, flat paths kept.
	for m in $MODULES; do
		modprobe -d "$kernel" -S "$version" --show-depends "$m" ||
			die "the kernel package has no module $m"
	done | sed -n 's/^insmod \(.*\.ko\).*/\1/p' | sort -u | while read -r f; do
		install -D -m 644 "$f" "$root${f#"$kernel"}"
	done
	cp "$kernel/lib/modules/$version"/modules.{builtin,builtin.modinfo,order} \
		"$root/lib/modules/$version/"
	depmod -b "$root" "$version"
	echo $MODULES | tr ' ' '\n' > "$root/etc/modules"
	echo 'root:x:0:0:root:/:/bin/sh' > "$root/etc/passwd"

	(cd "$root" && find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0) > "$BUILD/initrd.part"
	mv "$BUILD/initrd.part" "$BUILD/initrd"
	ln -sfn "$kernel/vmlinux" "$BUILD/vmlinux"
	echo "kernel $version, initramfs $(($(stat -c %s "$BUILD/initrd") / 1048576)) MiB, in $BUILD"
}

# --- run -------------------------------------------------------------------

# The pid of our QEMU, if it runs. The pid file alone may be stale.
qemu_pid() {
	local pid
	pid=$(cat "$RUN/pid" 2>/dev/null) || return 1
	tr '\0' '\n' 2>/dev/null < "/proc/$pid/cmdline" | grep -qx "guest=$NAME" || return 1
	echo "$pid"
}

run() {
	local i args=() start now
	[ -f "$BUILD/initrd" ] || die "not built yet: guest.sh build"
	qemu_pid >/dev/null && die "a guest named $NAME runs already"
	! has_netns ||
		die "network namespace $NETNS exists already (guest.sh stop removes it)"
	rm -rf "$RUN"
	mkdir -p "$RUN"
	[ ${#RUN} -lt 90 ] || die "path too long for Unix sockets: $RUN"

	trap stop EXIT		# until all is well
	ip netns add "$NETNS"
	ip -n "$NETNS" link set lo up
	ip -n "$NETNS" tuntap add dev $TAP mode tap
	ip netns exec "$NETNS" sysctl -qw net.ipv6.conf.$TAP.accept_dad=0
	ip -n "$NETNS" addr add "$HOST4/24" dev $TAP
	ip -n "$NETNS" addr add "$HOST6/64" dev $TAP nodad
	ip -n "$NETNS" link set $TAP up

	for ((i = 0; i < CHANNELS; i++)); do
		args+=(-chardev "socket,id=c$i,path=$RUN/ctl$i.sock,server=on,wait=off"
			-device "virtserialport,chardev=c$i,name=ctl$i")
	done
	# No offloads: every packet has its final size and checksum on the tap.
	local off=csum=off,guest_csum=off,gso=off,mrg_rxbuf=off
	off+=,guest_tso4=off,guest_tso6=off,guest_ecn=off,guest_ufo=off
	off+=,host_tso4=off,host_tso6=off,host_ecn=off,host_ufo=off

	start=$(date +%s.%N)
	# A guest that waits for its processor loses packets.
	ip netns exec "$NETNS" nice -n -10 qemu-system-x86_64 -name "guest=$NAME" \
		-nodefaults -no-user-config -display none -no-reboot \
		-machine q35 -accel "${DCCP_GUEST_ACCEL:-tcg}" -cpu max \
		-smp "${DCCP_GUEST_CPUS:-1}" -m "${DCCP_GUEST_MEM:-512}" \
		-kernel "$BUILD/vmlinux" -initrd "$BUILD/initrd" \
		-append "console=ttyS0 loglevel=5 panic=-1 mitigations=off random.trust_cpu=on tsc=reliable peer.name=$NAME peer.ip4=$GUEST4/24 peer.ip6=$GUEST6/64" \
		-serial "file:$RUN/console.log" \
		-netdev "tap,id=n0,ifname=$TAP,script=no,downscript=no,vhost=off" \
		-device "virtio-net-pci,netdev=n0,romfile=,mac=52:54:00:33:43:40,$off" \
		-device virtio-serial-pci "${args[@]}" \
		-D "$RUN/qemu.log" -daemonize -pidfile "$RUN/pid" ||
		{ cat "$RUN/qemu.log" >&2; die "QEMU did not start"; }
	control --timeout 120 true ||
		{ tail -n 20 "$RUN/console.log" "$RUN/qemu.log" >&2; die "the guest did not come up"; }
	now=$(date +%s.%N)
	echo "$now $start" | awk '{ printf "guest up after %.1f s\n", $1 - $2 }'
	trap - EXIT
}

control() { python3 "$here/control.py" "$RUN" "$@"; }

# exec [OPTIONS] -- COMMAND...; sh [OPTIONS] 'COMMANDS'
guest_exec() {
	local options=() line=
	while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1"); shift; done
	[ $# -ge 2 ] || die "usage: guest.sh exec [--timeout S] [--stdin] -- COMMAND [ARG...]"
	shift
	printf -v line '%q ' "$@"
	# "exec" so that a signal reaches the command and not only a shell
	exec python3 "$here/control.py" "$RUN" "${options[@]}" "exec $line"
}

# By its whole name: an interrupted run leaves others that begin with it.
has_netns() {
	ip netns list | cut -d " " -f 1 | grep -qx "$NETNS"
}

stop() {
	local pid
	if pid=$(qemu_pid); then
		kill "$pid"
		for _ in $(seq 50); do
			[ -d "/proc/$pid" ] || break
			sleep 0.1
		done
		[ ! -d "/proc/$pid" ] || kill -9 "$pid"
	fi
	rm -f "$RUN"/*.sock "$RUN"/*.lock "$RUN/pid"
	if has_netns; then ip netns del "$NETNS"; fi
}

# The tests name a guest usrdccp-PROCESS-guest, after the process that runs it.
clean() {
	local folder process
	for folder in "$BUILD"/run-usrdccp-*-guest; do
		[ -d "$folder" ] || continue
		process=${folder##*/run-usrdccp-}
		process=${process%-guest}
		[ ! -d "/proc/$process" ] || continue
		NAME=${folder##*/run-} NETNS=${folder##*/run-} RUN=$folder
		stop
		rm -rf "$folder"
	done
}

case "${1:-}" in
build) build ;;
run) run ;;
exec) shift; guest_exec "$@" ;;
sh) shift; exec python3 "$here/control.py" "$RUN" "$@" ;;
host) shift; exec ip netns exec "$NETNS" "$@" ;;
env) printf '%s\n' NETNS=$NETNS TAP=$TAP HOST4=$HOST4 GUEST4=$GUEST4 HOST6=$HOST6 GUEST6=$GUEST6 ;;
status) if pid=$(qemu_pid); then echo "running, pid $pid"; else echo "not running"; exit 1; fi ;;
stop) stop ;;
clean) clean ;;
*) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 2 ;;
esac
