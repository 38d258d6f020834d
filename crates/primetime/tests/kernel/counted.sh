# Requests whose number depends on no cache: names are made and removed, and data goes out when a file is closed.
mkdir d
for file in $(seq 60); do echo "file $file" >d/$file || fail "create"; done
for file in $(seq 60); do rm d/$file || fail "remove"; done
rmdir d || fail "rmdir"
