# Works in the open: the host looks at what is held, and at last ends this client, which goes on by itself.
exec 3<>held
flock -x 3 || fail "lock"
echo before >other
tell holding; await expired
# The new client has nothing of what the old one held; files are opened again, and what was written is there.
echo after >>other || fail "write after the end"
expect "what is there" "$(cat other)" "before
after"
echo again >fresh || fail "create after the end"
exec 3>&-
