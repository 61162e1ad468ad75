#!/bin/sh
# deps.sh WHAT PACKAGE... - see that Debian packages are there.
# As root, installs what is missing; otherwise prints the line to type and
# fails.  Never installs or removes a mail server: what apt would do is looked
# at first, and refused if it touches one.
set -eu
what=$1
shift

missing=
for p; do
	case $(dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null) in
	ii*) ;;
	*) missing="$missing $p" ;;
	esac
done
[ -n "$missing" ] || exit 0

line="apt-get install -y --no-install-recommends$missing"
if [ "$(id -u)" -ne 0 ]; then
	echo "$what needs packages that are not there.  As root:" >&2
	echo "    $line" >&2
	exit 1
fi

export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
plan() { apt-get -s install --no-install-recommends $missing 2>&1; }
# Package lists may be missing, or older than the mirror.
plan >/dev/null || apt-get update -qq
if ! out=$(plan); then
	echo "$out" >&2
	exit 1
fi
mta='(sendmail-bin|sendmail-base|postfix|exim4[a-z-]*|opensmtpd|nullmailer|msmtp-mta|dma|ssmtp|courier-mta)'
if echo "$out" | grep -Eq "^Remv|^Inst $mta "; then
	echo "$what: apt would remove something or install a mail server:" >&2
	echo "$out" | grep -E "^Remv|^Inst $mta " >&2
	exit 1
fi
echo "$what: installing$missing"
# shellcheck disable=SC2086
apt-get install -qq -y --no-install-recommends $missing >/dev/null ||
	{ apt-get update -qq && $line; }
