# stumble.sh - a collector that can be made to stumble, or to wait for its disk
# (stumble.c).  Source it after daemon.sh.
# shellcheck shell=sh disable=SC2154 # sourced

# stumbling - from here on, tidemarkd runs with stumble.c in front.
stumbling()
{
	bin=$(realpath "$B")
	${CC:-cc} -D_GNU_SOURCE -O1 -shared -fPIC -o "$D/stumble.so" \
	    tests/daemon/stumble.c && mkdir "$D/bin" || return 1
	printf '#!/bin/sh\nLD_PRELOAD=%s exec %s "$@"\n' "$D/stumble.so" \
	    "$bin/tidemarkd" >"$D/bin/tidemarkd"
	chmod +x "$D/bin/tidemarkd"
	STUMBLE=$D/stumble
	export STUMBLE
}
tidemark() { "$bin/tidemark" -c "$conf" "$@"; }
