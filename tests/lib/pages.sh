# pages.sh - the manual pages of the tree, those that are made of tables too.
# Source it.
# shellcheck shell=sh

# pages - the files; B has to be built.
pages()
{
	for page_ in daemon milter tools tools/man tools/web "${B:-build}/man"; do
		find "$page_" -maxdepth 1 -name 'tidemark*.[1-9]' | sort
	done
}

# section NAME PAGE - its lines.
section()
{
	awk -v name="$1" '/^\.Sh/ { on = $0 == ".Sh " name; next } on' "$2"
}

# names PAGE - whom it is about.
names()
{
	section NAME "$1" | sed -n 's/^\.Nm \([^ ]*\).*/\1/p'
}

# page_of NAME - the file that has it among its names.
page_of()
{
	for page_ in $(pages); do
		if names "$page_" | grep -qxF -e "$1"; then
			echo "$page_"
			return
		fi
	done
	return 1
}
