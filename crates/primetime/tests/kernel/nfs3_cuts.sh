# Work over NFSv3 that goes on until the host says stop: no call may fail.
cd /mnt/n
for worker in 1 2 3 4; do
    NAME="$NAME$worker" perl "$EXCHANGE/failures.pl" once & started="$started $!"
done
perl "$EXCHANGE/failures.pl" model & started="$started $!"
perl "$EXCHANGE/failures.pl" write "$NAME" /tmp/acknowledged & started="$started $!"
for process in $started; do wait "$process" || fail "a process"; done
cp /tmp/acknowledged "$EXCHANGE/acknowledged"
