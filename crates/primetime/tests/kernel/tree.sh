# A source tree is unpacked from an archive, compared, and built twice, beside the same build on a file system of the guest's
# own.
sums() { (cd "$1" && find . -type f | sort | xargs -d '\n' cksum); }
forget() { echo 3 >/proc/sys/vm/drop_caches; }
build() { perl "$EXCHANGE/build.pl" source "$OBJECTS" || fail "build"; }

mkdir /tmp/own /tmp/own/source source
(cd "$SOURCE" && find . -type f | sort | head -n "$FILES") >/tmp/own/source.list
cp /tmp/own/source.list .
tar -C "$SOURCE" -cf archive.tar -T source.list || fail "pack"
tar -C source -xf archive.tar || fail "unpack"
tar -C /tmp/own/source -xf archive.tar || fail "unpack on the guest's own"
forget
sums /tmp/own >/tmp/expected; rm archive.tar
sums . >/tmp/unpacked
cmp /tmp/expected /tmp/unpacked || fail "what was unpacked differs"
echo "ok $NAME $(wc -l <source.list) files, $(du -sm source | cut -f1) MB"

(cd /tmp/own && build) >/tmp/built
expect "objects of the first build" "$(build)" "$(cat /tmp/built)"
expect "objects of a build with nothing to do" "$(build)" 0
# The clock of the server decides what is newer.
for header in $(sed -n '5p;50p;500p' source.list); do
    touch -d '2100-01-01' "source/$header" "/tmp/own/source/$header"
done
(cd /tmp/own && build) >/tmp/built
expect "objects that depend on a newer header" "$(build)" "$(cat /tmp/built)"
[ "$(cat /tmp/built)" -gt 0 ] || fail "nothing depends on what was touched"
forget
sums /tmp/own/build >/tmp/expected
sums build >/tmp/built
cmp /tmp/expected /tmp/built || fail "what was built differs"
cd / && rm -r /mnt/n/source /mnt/n/build /mnt/n/source.list || fail "clean up"
