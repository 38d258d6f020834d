# Serves a directory of the disk until the power is cut. Nothing but what the server asks for goes to the disk meanwhile.
mkdir -p /mnt/disk
if [ "$JOURNAL" = yes ]; then
    mkfs.ext4 -q /dev/ubda || exit 1
    mount -o commit=600 /dev/ubda /mnt/disk || exit 1
    # A journal has a process that writes it.
    grep -q '^[0-9]' /sys/fs/ext4/ubda/journal_task || exit 1
else
    mkfs.ext4 -q -O ^has_journal /dev/ubda || exit 1
    mount /dev/ubda /mnt/disk || exit 1
    echo 360000 >/proc/sys/vm/dirty_expire_centisecs
fi
mkdir -m 777 /mnt/disk/export
if [ "$JOURNAL" != yes ]; then
    # A directory that grows has half of its names in blocks that go to the disk by themselves: this one has grown already.
    for number in $(busybox seq 3000); do : >"/mnt/disk/export/name$number"; done
    rm /mnt/disk/export/*
fi
sync
until [ -x "$EXCHANGE/primetime" ]; do busybox usleep 10000; done
# shellcheck disable=SC2086
exec "$EXCHANGE/primetime" serve /mnt/disk/export --listen 0.0.0.0:2049 --state-dir /run/state $SERVE_OPTIONS
