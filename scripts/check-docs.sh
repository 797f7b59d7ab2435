#!/bin/sh
# SPDX-License-Identifier: MIT
# check-docs.sh REDLOCK, in the top source directory: two lists that must agree
# will not, unless somebody compares them. Compares, in both directions,
#   the options of `redlock --help` with the manual and the three completions,
#   enum exit_status with EXIT STATUS,
#   schemes and options of URLs with SERVERS,
#   the variables given to the command, and those read, with ENVIRONMENT.
# One line per difference, status 1.
set -eu
LC_ALL=C
export LC_ALL

redlock=${1:?usage: scripts/check-docs.sh REDLOCK}
case $redlock in */*) ;; *) redlock=./$redlock ;; esac
man=man/redlock.1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0

# compare WANT HAVE WHAT WHERE: both are files of lines
compare() {
	for f in "$tmp/$1" "$tmp/$2"; do
		if [ ! -s "$f" ]; then
			echo "$4: found no $3 at all: has its form changed?"
			bad=1
			return
		fi
		sort -u -o "$f" "$f"
	done
	comm -23 "$tmp/$1" "$tmp/$2" | sed "s|^|$4: missing $3: |" >"$tmp/out"
	comm -13 "$tmp/$1" "$tmp/$2" | sed "s|^|$4: unknown $3: |" >>"$tmp/out"
	[ ! -s "$tmp/out" ] || bad=1
	cat "$tmp/out"
}

section() { # TITLE: the lines of a section of the manual
	awk -v title="$1" '
		/^\.Sh / { inside = substr($0, 5) == title; next }
		inside' "$man"
}
subsection() { # TITLE, from stdin
	awk -v title="$1" '
		/^\.Ss / { inside = substr($0, 5) == title; next }
		inside'
}

# ---- options: "-k --key value", "--no-describe" ----

"$redlock" --help >"$tmp/text"
awk '
	/^  (-[A-Za-z],|   ) --/ {
		match($0, /--[a-z0-9-]+/)
		rest = substr($0, RSTART + RLENGTH)
		print (substr($0, 3, 1) == "-" ? substr($0, 3, 2) " " : "") \
		    substr($0, RSTART, RLENGTH) (rest ~ /^ [^ ]/ ? " value" : "")
	}' "$tmp/text" >"$tmp/help"

section OPTIONS | awk '
	/^\.It Fl / {
		letter = long = value = ""
		for (i = 2; i <= NF; i++) {
			if ($i == "Fl" && $(i + 1) ~ /^-/)
				long = "-" $(++i)
			else if ($i == "Fl")
				letter = "-" $(++i) " "
			else if ($i != ",")
				value = " value"
		}
		print letter long value
	}' >"$tmp/man"

awk '
	/^_redlock_valued="$/ { value = " value"; inside = 1; next }
	/^_redlock_plain="$/ { value = ""; inside = 1; next }
	/^"$/ { inside = 0 }
	inside { $1 = $1; print $0 value }
	' completions/bash/redlock >"$tmp/bash"

awk -v q="'" '
	$0 ~ ("^\t" q) && /\[.*\]/ {
		value = $0 ~ /\]:/ ? " value" : ""
		spec = substr($0, 1, index($0, "[") - 1)
		sub(/\([^)]*\)/, "", spec) # what it excludes
		gsub("[" q "{}*+=\t]", "", spec)
		gsub(/,/, " ", spec)
		print spec value
	}' completions/zsh/_redlock >"$tmp/zsh"

awk '
	/^complete -c redlock .* -l / {
		letter = long = value = ""
		for (i = 1; i <= NF && $i != "-d"; i++) {
			if ($i == "-s")
				letter = "-" $(i + 1) " "
			if ($i == "-l")
				long = "--" $(i + 1)
			if ($i == "-x" || $i == "-r")
				value = " value"
		}
		print letter long value
	}' completions/fish/redlock.fish >"$tmp/fish"

for form in man bash zsh fish; do
	case $form in
	man) file=$man ;;
	*) file=$(echo "completions/$form/"*) ;;
	esac
	compare help "$form" option "$file"
	# what stands as A|B in --help is a choice, and in full everywhere
	sed -n 's/^.* --\([a-z-]*\) \([a-z]*|[a-z]*\(|[a-z]*\)*\)\(|DUR\)* .*/\1 \2/p' \
		"$tmp/text" |
		while read -r name words; do
			between=' '
			[ "$form" != man ] || between=' | '
			grep -e "-$name" -e "-l $name" "$file" |
				grep -qF "$(echo "$words" | sed "s/|/$between/g")" ||
				grep -A 2 -e "--$name)" "$file" |
				grep -qF "$(echo "$words" | tr '|' ' ')" ||
				echo "$file: --$name: the values are not $words"
		done >"$tmp/choices"
	[ ! -s "$tmp/choices" ] || bad=1
	cat "$tmp/choices"
done

# fish has to find the command itself: which options take a value, once more
awk '/ value$/ { for (i = 1; i < NF; i++) print $i }' "$tmp/help" >"$tmp/valued"
sed -n '/set -l valued/,/[^\\]$/p' completions/fish/redlock.fish |
	grep -o -e '--[a-z-]*' >"$tmp/walk"
sed -n 's/.*\[^\([A-Za-z]*\)\]\*\[\1\]\$.*/\1/p' completions/fish/redlock.fish |
	sed 's/./-&\n/g' | grep . >>"$tmp/walk"
compare valued walk "option that takes a value" \
	"completions/fish/redlock.fish, __redlock_command"

# ---- URLs ----

# the rows without a refusal, {"redis", "://", ..., NULL}
section SERVERS >"$tmp/servers"
sed -n 's/^\t{"\([a-z-]*\)", "\(:[/]*\)", .* NULL},$/\1\2/p' \
	src/net/scheme.c >"$tmp/schemes"
sed -n 's/^\.\(It \)\{0,1\}Li //p' "$tmp/servers" | tr -s ' ' '\n' |
	grep -o '^[a-z-][a-z-]*:\(//\)\{0,1\}$' >"$tmp/schemes-man"
compare schemes schemes-man scheme "$man, SERVERS"

sed -n '/options\[\] = {/,/^}/s/^\t{"\([a-z-]*\)".*/\1/p' \
	src/net/options.c >"$tmp/queries"
sed -n 's/^\.It Li \([a-z-]*\)=.*/\1/p' "$tmp/servers" >"$tmp/queries-man"
compare queries queries-man "option of a URL" "$man, SERVERS"

# ---- exit statuses ----

awk '
	/^enum exit_status/ { inside = 1 }
	/^}/ { inside = 0 }
	inside {
		while (match($0, /= *[0-9]+/)) {
			print substr($0, RSTART + 1, RLENGTH - 1) + 0
			$0 = substr($0, RSTART + RLENGTH)
		}
	}
	' src/cli/command.h >"$tmp/enum"
section "EXIT STATUS" | awk '/^\.It [0-9]+$/ { print $2 }' >"$tmp/statuses"
compare enum statuses "exit status" "$man, EXIT STATUS"

# ---- variables ----

section ENVIRONMENT >"$tmp/environment"
cat src/cli/*.c | grep -o '"REDLOCK_[A-Z_]*="' | tr -d '"=' >"$tmp/given"
subsection "Given to the command" <"$tmp/environment" |
	awk '/^\.It Ev / { print $3 }' >"$tmp/given-man"
compare given given-man "variable for the command" "$man, ENVIRONMENT"

# by getenv("NAME"), or from a table of names that is handed to getenv()
cat src/cli/*.c | awk '
	/ names\[\] = \{/ { table = 1 }
	{
		want = table ? "\"[A-Z]+_[A-Z_]+\"" : "getenv\\(\"[A-Z_]+\""
		for (line = $0; match(line, want); line = rest) {
			rest = substr(line, RSTART + RLENGTH)
			split(substr(line, RSTART, RLENGTH), quoted, "\"")
			print quoted[2]
		}
	}
	/}/ { table = 0 }' >"$tmp/read"
subsection "Read by redlock" <"$tmp/environment" |
	sed -n 's/^\.\(It \)\{0,1\}Ev //p' | tr -s ' ' '\n' |
	grep '^[A-Z]' >"$tmp/read-man"
compare read read-man "variable that is read" "$man, ENVIRONMENT"

exit $bad
