#!/bin/sh
# Becomes a container's process. Runs as process 1 of new mount and process namespaces, inside the network namespace of its pod.
# Arguments: ROOT USER GROUP GROUPS WRITABLE COUNT, then COUNT pairs of FROM TO to mount (`ro:` before FROM for read-only), then
# the command.
set -eu
root=$1 user=$2 group=$3 groups=$4 writable=$5 count=$6
shift 6

mount -t tmpfs -o mode=755 tmpfs "$root"
mkdir "$root/proc" "$root/dev"
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
for device in null zero random urandom; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done

while [ "$count" -gt 0 ]; do
  from=$1 to=$root$2
  shift 2
  count=$((count - 1))
  case $from in
    ro:*) from=${from#ro:} flags=ro,nosuid ;;
    *) flags=rw,nosuid ;;
  esac
  if [ -d "$from" ]; then
    mkdir -p "$to"
  else
    mkdir -p "$(dirname "$to")"
    touch "$to"
  fi
  mount --bind "$from" "$to"
  mount -o "remount,bind,$flags" "$to"
done

[ "$writable" = yes ] || mount -o remount,ro "$root"
exec setpriv --no-new-privs /usr/sbin/chroot --userspec="$user:$group" --groups="$groups" "$root" "$@"
