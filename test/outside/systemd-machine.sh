#!/bin/bash
# Starts systemd as process 1 of a machine whose root is this one's, with changes that are gone at its end.
# Arguments: an empty folder, the checkout. Run by test/outside/systemd.ts in namespaces of its own.
set -euo pipefail
scratch=$1
checkout=$2
mount --make-rprivate /
mount -t tmpfs tmpfs "$scratch"
root=$scratch/root
mkdir "$scratch/upper" "$scratch/work" "$root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$scratch/upper,workdir=$scratch/work" "$root"
mkdir -p "$root/opt/adit" "$root/.old"
mount --bind "$checkout" "$root/opt/adit"

# Nothing that this machine starts.
rm -rf "$root/etc/systemd/system"
mkdir "$root/etc/systemd/system"
ln -s /usr/lib/systemd/system/multi-user.target "$root/etc/systemd/system/default.target"
: >"$root/etc/machine-id"

mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs tmpfs "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm"
for device in null zero full random urandom tty; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mount -t devpts devpts "$root/dev/pts" -o newinstance,ptmxmode=666
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"

cd "$root"
pivot_root . .old
umount -l /.old
exec env -i container=adit PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=console
