#!/bin/sh
# t_silence.sh - a collector that hangs is killed; if the next one does, too, it
# is the map's fault, and the third begins with a new one.
set -u
. tests/lib/tap.sh
. tests/lib/daemon.sh

log_has() { grep -q "$1" "$D/log"; }
started()
{
	"$B/tidemarkd" --silent-ms 4000 -c "$conf" >>"$D/out" 2>&1 </dev/null &
	daemon_pid=$!
	within 15 daemon_up
}

# A process that is stopped says nothing, as one that goes round for ever.
hangs()
{
	hung=$(collector)
	kill -STOP "$hung" && within 30 collector_is_new "$hung"
}

daemon_conf '[profile external]' 'oksender_mode = enforce' \
    'oksender_limit = 6/1h' 'oksender_leak = 1h' 'oksender_ban = 1h'
check "starts" started
mail 8 external many@x.example >/dev/null
check "a ban" within 30 tidemark banned many@x.example
check "a checkpoint" tidemark checkpoint
check "a collector that hangs is replaced" hangs
check "which is logged" log_has 'no sign of life for 4 s: killed'
check "the map is resumed" log_has 'live map resumed'
check "a second one, too" hangs
check "and the map is put aside" within 30 log_has \
    'two collectors in a row hung with this map; kept as'
check "where it says" [ -e "$D/run/live.mdb.damaged" ]
check "which is counted" same "$(counter maps_set_aside)" 1
check "what the checkpoint knew is there" tidemark banned many@x.example
check "and enforced" within 30 sends 0 1 external many@x.example
check "that time is a gap" exits 3 tidemark query --from no@nowhere.example
check "audit" tidemark audit
tap_end
