# Makes a PostgreSQL server in a folder of its own and prints the folder, where its socket is, when the server
# answers. Nothing listens on the network. $1 is the folder with `initdb` and `pg_ctl`.
#
# It waits until its input is closed, which happens when whoever started it is gone, however that went, and
# then stops the server. An interrupt from the keyboard reaches it too and must not keep it from that.
#
# Started by postgres.rs.
trap '' INT TERM HUP
bin=$1
dir=$(mktemp -d "${TMPDIR:-/tmp}/tertulia-pg.XXXXXX") || exit 1
fail() { cat "$dir/log" >&2; rm -rf "$dir"; exit 1; }
"$bin/initdb" --no-sync --encoding=UTF8 --locale=C --username=tertulia --auth=trust \
    -D "$dir/data" >"$dir/log" 2>&1 || fail
printf '%s\n' 'local all locked scram-sha-256' 'local all all trust' >"$dir/data/pg_hba.conf"
"$bin/pg_ctl" -D "$dir/data" -w -t 120 -l "$dir/log" \
    -o "-k $dir -c listen_addresses='' -c max_connections=300 -c fsync=on" \
    start >/dev/null 2>>"$dir/log" || fail
echo "$dir"
cat >/dev/null
"$bin/pg_ctl" -D "$dir/data" -m immediate -w -t 120 stop >/dev/null 2>&1
rm -rf "$dir"
