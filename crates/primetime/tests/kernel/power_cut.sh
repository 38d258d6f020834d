# Serves a directory of the disk until the power is cut. Nothing but what the server asks for goes to the disk meanwhile.
mkfs.ext4 -q /dev/ubda || exit 1
mkdir -p /mnt/disk
mount -o commit=600 /dev/ubda /mnt/disk || exit 1
# A journal has a process that writes it.
grep -q '^[0-9]' /sys/fs/ext4/ubda/journal_task || exit 1
mkdir -m 777 /mnt/disk/export
sync
until [ -x "$EXCHANGE/primetime" ]; do busybox usleep 10000; done
# shellcheck disable=SC2086
exec "$EXCHANGE/primetime" serve /mnt/disk/export --listen 0.0.0.0:2049 --state-dir /run/state $SERVE_OPTIONS
