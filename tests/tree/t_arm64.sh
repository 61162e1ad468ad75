#!/bin/sh
# t_arm64 - nothing that only one processor's compiler knows stands in the way
# of another.  With a compiler for arm64 (gcc-aarch64-linux-gnu, which nobody
# needs otherwise) what needs no library of that machine is compiled by it.
set -u
. tests/lib/tap.sh

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# flags MACHINE - what a compiler for it would be called with.
flags()
{
	printf '#!/bin/sh\necho %s\n' "$1" >"$work/cc"
	chmod 755 "$work/cc"
	make -n B="$work/b" CC="$work/cc" "$work/b/obj/daemon/lib/base/err.o"
}

guards()
{
	flags "$1" >"$work/flags"
	cat "$work/flags"
	same "$(grep -oE -e '-fcf-protection|-mbranch-protection' \
		"$work/flags")" "$2"
}
check "x86-64 guards jumps in its way" guards x86_64-linux-gnu -fcf-protection
check "arm64 in its own" guards aarch64-linux-gnu -mbranch-protection
check "others not at all" guards riscv64-linux-gnu ""

# Headers of libraries are the same on both, and come last.
cross=aarch64-linux-gnu-gcc
compiles()
{
	# shellcheck disable=SC2086 # words, by intent
	make -s B="$work/b" CC="$cross" CPPFLAGS="-idirafter /usr/include" $1
}
if command -v "$cross" >/dev/null; then
	check "the modules compile for arm64" compiles \
		"$(find daemon/lib daemon/supervisor daemon/collector milter \
			-name '*.c' | sed "s|\(.*\)c$|$work/b/obj/\1o|" |
			tr '\n' ' ')"
else
	skip "the modules compile for arm64" "there is no $cross"
fi
tap_end
