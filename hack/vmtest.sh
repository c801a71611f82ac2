#!/bin/bash
# For trying the engine on other kernels and control groups, by hand: boots a Debian kernel in QEMU (software emulation, no KVM needed) with a cgroup v2,
# v1 or hybrid hierarchy, run one program in it as root or as an ordinary user,
# print its output and exit with its exit code.
#
#   vmtest.sh [-k 6.1|6.12] [-g v2|v1|hybrid] [-u] [-s 'sh commands']
#             [-f FILE_OR_DIR[:/guest/path]]... [-e NAME=VALUE]... [-m MB] [-c CPUS] [-t SECONDS]
#             PROGRAM [ARG]...
#
#   -k  kernel series (default 6.1: Landlock ABI 2; 6.12: Landlock ABI 6)
#   -g  cgroup layout mounted before the program starts (default v2)
#   -u  run as uid/gid 1000; with v2 inside a cgroup delegated to that user
#   -s  commands run as root just before the program, e.g. 'sysctl -w kernel.unprivileged_userns_clone=0'
#   -f  copy a file or folder into the guest (default guest path: /data/<name>)
# PROGRAM is copied to /test/<name>; the guest has glibc, Debian's python3, libseccomp2,
# util-linux and busybox, so a cgo binary built on Debian 12 runs too.
# Needs the packages qemu-system-x86 busybox-static e2fsprogs, and apt for the kernel package.
set -euo pipefail
export PATH="$PATH:/usr/sbin:/sbin"
kernel=6.1 cg=v2 user=0 pre= mem=1024 cpus=1 limit=300 files=() envs=()
while getopts 'k:g:us:f:e:m:c:t:' o; do case $o in
  k) kernel=$OPTARG;; g) cg=$OPTARG;; u) user=1000;; s) pre=$OPTARG;;
  f) files+=("$OPTARG");; e) envs+=("$OPTARG");; m) mem=$OPTARG;; c) cpus=$OPTARG;; t) limit=$OPTARG;;
  *) exit 64;; esac; done
shift $((OPTIND - 1)); [ $# -ge 1 ] || { sed -n '2,20p' "$0" >&2; exit 64; }
cache=${VMTEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vmtest}; mkdir -p "$cache"
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT

# --- kernel (unpacked once) ---
kdir=$cache/kernel-$kernel
if ! [ -e "$kdir/vmlinuz" ]; then (
  flock 9; [ -e "$kdir/vmlinuz" ] && exit 0
  meta=linux-image-cloud-amd64; [ "$kernel" = 6.1 ] || meta=linux-image-$kernel-cloud-amd64
  pkg=$(apt-cache depends "$meta" | awk '/Depends: linux-image-/{print $2; exit}')
  [ -n "$pkg" ] || { echo "no package for kernel $kernel (run apt-get update?)" >&2; exit 1; }
  rm -rf "$kdir.new"; mkdir -p "$kdir.new"; cd "$kdir.new"
  apt-get download -qq "$pkg" >&2; dpkg-deb -x ./*.deb x
  find x/lib/modules -name overlay.ko\* -exec cp {} . \; ; cp x/boot/config-* config
  cp x/boot/vmlinuz-* vmlinuz; rm -rf x ./*.deb; rm -rf "$kdir"; mv "$kdir.new" "$kdir"
) 9>"$cache/lock"; fi

# --- root file system (made once from this machine's installed packages) ---
img=$cache/root.img
if ! [ -e "$img" ]; then (
  flock 9; [ -e "$img" ] && exit 0
  r=$work/root; mkdir -p "$r"/usr/{bin,sbin,lib,lib64} "$r"/{proc,sys,dev,tmp,run,etc,root,test,data,home/u}
  for d in bin sbin lib lib64; do ln -s usr/$d "$r/$d"; done
  for p in libc6 libgcc-s1 libcrypt1 zlib1g libexpat1 libssl3 libffi8 libbz2-1.0 liblzma5 libsqlite3-0 \
           libtinfo6 libncursesw6 libuuid1 libreadline8 libdb5.3 libnsl2 libtirpc3 libgssapi-krb5-2 libkrb5-3 \
           libk5crypto3 libkrb5support0 libcom-err2 libkeyutils1 libseccomp2 libcap2 libcap-ng0 libselinux1 \
           libpcre2-8-0 libmount1 libblkid1 libsmartcols1 libacl1 libattr1 python3-minimal python3.11-minimal \
           libpython3.11-minimal libpython3.11-stdlib python3.11 dash bash coreutils util-linux mount \
           libcap2-bin uidmap libsubid4 libaudit1 libpam0g procps libproc2-0; do
    dpkg -L "$p" 2>/dev/null || true
  done | grep -Ev '^/usr/share/(doc|man|locale|lintian|bash-completion)' | sort -u |
    while read -r f; do if [ -L "$f" ] || [ -f "$f" ]; then echo "$f"; fi; done > "$work/list"
  tar -C / -cf - -T "$work/list" 2>/dev/null | tar -C "$r" --keep-directory-symlink -xf -
  cp /bin/busybox "$r/bin/busybox"
  for a in $(/bin/busybox --list); do [ -e "$r/usr/bin/$a" ] || [ -e "$r/usr/sbin/$a" ] || ln -s busybox "$r/usr/bin/$a"; done
  printf 'root:x:0:0::/root:/bin/sh\nu:x:1000:1000::/home/u:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' > "$r/etc/passwd"
  printf 'root:x:0:\nu:x:1000:\nnogroup:x:65534:\n' > "$r/etc/group"
  echo 'u:100000:65536' | tee "$r/etc/subuid" > "$r/etc/subgid"
  echo '127.0.0.1 localhost' > "$r/etc/hosts"
  cat > "$r/init" <<'I'
#!/bin/busybox sh
export PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin HOME=/root
busybox mount -t proc proc /proc; busybox mount -t sysfs sys /sys; busybox mount -t devtmpfs dev /dev 2>/dev/null
busybox mkdir -p /dev/shm /dev/pts
busybox mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts; busybox mount -t tmpfs -o mode=1777 shm /dev/shm
busybox mount -t tmpfs -o mode=1777 tmp /tmp; busybox mount -t tmpfs run /run
busybox mount -t securityfs sec /sys/kernel/security 2>/dev/null
busybox mount --make-rshared /
busybox ip link set lo up 2>/dev/null; busybox hostname vm
busybox mount -t tmpfs t /test; busybox tar -C /test -xf /dev/nvme1n1
busybox mount -o bind /test/data /data 2>/dev/null
[ -e /test/.overlay.ko ] && insmod /test/.overlay.ko
. /test/.run
busybox sync; busybox poweroff -f
I
  chmod 755 "$r/init"; chown -R 1000:1000 "$r/home/u" 2>/dev/null || true
  mke2fs -q -t ext4 -O ^has_journal -d "$r" "$img.new" 768M >&2; mv "$img.new" "$img"; rm -rf "$r"
) 9>"$cache/lock"; fi

# --- the program and its files, as a tar on the second disk ---
p=$work/p; mkdir -p "$p/data"; name=$(basename "$1"); cp "$1" "$p/$name"; chmod 755 "$p/$name"; shift
for f in "${files[@]}"; do
  src=${f%%:*}; dst=/data/$(basename "$src"); [ "$src" = "$f" ] || dst=${f#*:}
  case $dst in /data/*) mkdir -p "$p$(dirname "$dst")"; cp -a "$src" "$p$dst";; *) echo "-f: guest path must be under /data" >&2; exit 64;; esac
done
if [ -e "$kdir/overlay.ko" ]; then cp "$kdir/overlay.ko" "$p/.overlay.ko"
elif [ -e "$kdir/overlay.ko.xz" ]; then xz -dc "$kdir/overlay.ko.xz" > "$p/.overlay.ko"; fi
{
  case $cg in
  v2) echo 'busybox mount -t cgroup2 cg /sys/fs/cgroup';;
  v1|hybrid) echo 'busybox mount -t tmpfs -o mode=755 cg /sys/fs/cgroup
    for c in cpu,cpuacct cpuset memory pids freezer devices blkio; do
      busybox mkdir /sys/fs/cgroup/$c; busybox mount -t cgroup -o $c cg /sys/fs/cgroup/$c || busybox rmdir /sys/fs/cgroup/$c; done
    [ -d /sys/fs/cgroup/cpu,cpuacct ] && { busybox ln -s cpu,cpuacct /sys/fs/cgroup/cpu; busybox ln -s cpu,cpuacct /sys/fs/cgroup/cpuacct; }
    busybox mkdir /sys/fs/cgroup/systemd; busybox mount -t cgroup -o none,name=systemd cg /sys/fs/cgroup/systemd'
    [ $cg = v1 ] || echo 'busybox mkdir /sys/fs/cgroup/unified; busybox mount -t cgroup2 cg /sys/fs/cgroup/unified';;
  *) echo "unknown cgroup layout $cg" >&2; exit 64;; esac
  for e in "${envs[@]}"; do printf 'export %q\n' "$e"; done
  printf '%s\n' "$pre"; echo 'cd /test'
  if [ $user != 0 ]; then
    [ $cg != v2 ] || echo 'g=/sys/fs/cgroup; for c in $(cat $g/cgroup.controllers); do echo +$c > $g/cgroup.subtree_control; done
      mkdir -p $g/user/app; chown 1000:1000 $g/user $g/user/app $g/user/cgroup.procs $g/user/cgroup.subtree_control $g/user/cgroup.threads $g/user/app/cgroup.procs; echo $$ > $g/user/app/cgroup.procs'
    echo 'chown 1000:1000 /test; export HOME=/home/u USER=u; mkdir -p /run/user/1000; chown 1000 /run/user/1000; export XDG_RUNTIME_DIR=/run/user/1000'
    printf '/usr/bin/setpriv --reuid=1000 --regid=1000 --clear-groups --inh-caps=-all '
  fi
  printf '%q ' "/test/$name" "$@"; echo '</dev/null; echo "rc=$?" >/dev/ttyS1'
} > "$p/.run"
tar -C "$p" -cf "$work/p.tar" .; truncate -s %1M "$work/p.tar"

timeout "$limit" qemu-system-x86_64 -accel tcg,thread=multi -cpu max,la57=off -smp "$cpus" -m "$mem" \
  -nodefaults -no-user-config -display none -vga none -no-reboot -kernel "$kdir/vmlinuz" \
  -append "root=/dev/nvme0n1 rootfstype=ext4 rw init=/init console=ttyS0 quiet loglevel=0 panic=-1 random.trust_cpu=on mitigations=off${VMTEST_APPEND:+ $VMTEST_APPEND}" \
  -drive file="$img",if=none,id=d0,format=raw,snapshot=on -device nvme,serial=a,drive=d0 \
  -drive file="$work/p.tar",if=none,id=d1,format=raw,readonly=on -device nvme,serial=b,drive=d1 \
  -serial stdio -serial file:"$work/rc" </dev/null 2>"$work/qerr" | tr -d '\r' || true
rc=$(tr -d '\r' < "$work/rc" 2>/dev/null | sed -n 's/^rc=//p' || true)
[ -n "$rc" ] || { cat "$work/qerr" >&2; echo "vmtest: no exit code from the guest within ${limit}s" >&2; exit 125; }
exit "$rc"
