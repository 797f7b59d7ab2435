#!/bin/sh
# SPDX-License-Identifier: MIT
# check-docs.sh REDLOCK, in the top source directory: compares lists that must agree.
# In both directions, these are
#   the options of `redlock --help` with OPTIONS, those of `redlock VERB --help`
#   with VERBS, and all of them with the three completions,
#   the verbs with VERBS, the completions and README.md,
#   the version with the table of README.md,
#   the JSON schemas with redlock-json(5),
#   enum exit_status with EXIT STATUS, and from 64 on with README.md,
#   schemes and options of URLs with SERVERS,
#   the variables given to the command, and those read, with ENVIRONMENT,
#   the functions that HACKING.md and docs/protocol.md name, with their files.
# Prints a line for each difference; the status is then 1.
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
			echo "$4: found no $3 at all; has the format changed?"
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

# ---- options: "FORM -k --key value", "FORM --no-describe" ----

"$redlock" --help >"$tmp/run.text"
sed -n '/^By hand/,/^$/s/^  \([a-z-]*\) .*/\1/p' "$tmp/run.text" >"$tmp/verbs"
verbs=$(tr '\n' ' ' <"$tmp/verbs")
for verb in $verbs; do "$redlock" "$verb" --help >"$tmp/$verb.text"; done
forms="run $verbs"

for form in $forms; do
	awk -v form="$form" '
		/^  (-[A-Za-z],|   ) --/ {
			match($0, /--[a-z0-9-]+/)
			rest = substr($0, RSTART + RLENGTH)
			print form (substr($0, 3, 1) == "-" ? \
			    " " substr($0, 3, 2) : "") " " \
			    substr($0, RSTART, RLENGTH) \
			    (rest ~ /^ [^ ]/ ? " value" : "")
		}' "$tmp/$form.text"
done >"$tmp/help"
grep '^run ' "$tmp/help" >"$tmp/help-run"

# options FORM: the options in the .It Fl lines of stdin
options() {
	awk -v form="$1" '
		/^\.It Fl / {
			letter = long = value = ""
			for (i = 2; i <= NF; i++) {
				if ($i == "Fl" && $(i + 1) ~ /^-/)
					long = " -" $(++i)
				else if ($i == "Fl")
					letter = " -" $(++i)
				else if ($i != ",")
					value = " value"
			}
			print form letter long value
		}'
}
section OPTIONS | options run >"$tmp/man"
compare help-run man option "$man, OPTIONS"

# "A  B": form A takes option B; `all` means every form
each_form() {
	awk -v forms="$forms" '
		BEGIN { FS = "  "; n = split(forms, all, " ") }
		{
			k = split($1, who, " ")
			for (i = 1; i <= k; i++)
				if (who[i] != "all")
					print who[i] " " $2
				else
					for (j = 1; j <= n; j++)
						print all[j] " " $2
		}'
}

awk '
	/^_redlock_options="$/ { inside = 1; next }
	/^"$/ { inside = 0 }
	inside {
		split($0, half, ": ")
		gsub(/^\t/, "", half[1])
		sub(/=$/, " value", half[1])
		print half[2] "  " half[1]
	}' completions/bash/redlock | each_form >"$tmp/bash"
sed -n '/^_redlock_verbs="$/,/^"$/s/^\t//p' completions/bash/redlock \
	>"$tmp/bash-verbs"

awk -v q="'" '
	$0 ~ ("^\t" q ".* >") && /\[.*\]/ {
		value = $0 ~ /\]:/ ? " value" : ""
		who = substr($0, 3, index($0, " >") - 3)
		spec = substr($0, index($0, " >") + 2)
		spec = substr(spec, 1, index(spec, "[") - 1)
		sub(/\([^)]*\)/, "", spec) # what it excludes
		gsub("[" q "{}*+=\t]", "", spec)
		gsub(/,/, " ", spec)
		print who "  " spec value
	}' completions/zsh/_redlock | each_form >"$tmp/zsh"
sed -n "/^verbs=($/,/^)$/s/^	'\([a-z-]*\):.*/\1/p" completions/zsh/_redlock \
	>"$tmp/zsh-verbs"

awk -v q="'" '
	/^complete -c redlock -n .__redlock_takes .* -l / {
		letter = long = value = ""
		split($0, part, q)
		who = substr(part[2], index(part[2], " ") + 1)
		for (i = 1; i <= NF && $i != "-d"; i++) {
			if ($i == "-s")
				letter = "-" $(i + 1) " "
			if ($i == "-l")
				long = "--" $(i + 1)
			if ($i == "-x" || $i == "-r")
				value = " value"
		}
		print who "  " letter long value
	}' completions/fish/redlock.fish | each_form >"$tmp/fish"
sed -n 's/^complete -c redlock -n __redlock_first .* -a \([a-z-]*\) .*/\1/p' \
	completions/fish/redlock.fish >"$tmp/fish-verbs"

cat "$tmp"/*.text >"$tmp/text"
for form in man bash zsh fish; do
	case $form in
	man) file=$man ;;
	*)
		file=$(echo "completions/$form/"*)
		compare help "$form" option "$file"
		compare verbs "$form-verbs" verb "$file"
		;;
	esac
	# A|B in --help is a choice: each completion must offer both
	sed -n 's/^.* --\([a-z-]*\) \([a-z][a-z]*|[a-z][a-z]*\(|[a-z][a-z]*\)*\)\(|DUR\)* .*/\1 \2/p' \
		"$tmp/text" | sort -u |
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

cp -r completions "$tmp"
/usr/bin/python3 -IS scripts/completions.py "$redlock" "$tmp" || bad=1
diff -r completions "$tmp/completions" >"$tmp/out" || {
	echo "completions: not as scripts/completions.py $redlock writes them"
	bad=1
}

# ---- verbs: VERBS describes what the run form does not have, and names the rest ----

section VERBS >"$tmp/VERBS"
sed -n 's/^\.Ss //p' "$tmp/VERBS" >"$tmp/verbs-man"
compare verbs verbs-man verb "$man, VERBS"
grep -o 'redlock [a-z][a-z-]*' README.md | cut -d ' ' -f 2 |
	grep -xF -f "$tmp/verbs" >"$tmp/verbs-readme" || true
compare verbs verbs-readme verb README.md

# The version that the README compares with other tools.
sed -n 's/^AC_INIT(\[redlock\], \[\([0-9]*\.[0-9]*\).*/\1/p' configure.ac >"$tmp/version"
sed -n 's/^| | redlock \([0-9.]*\) |.*/\1/p' README.md >"$tmp/version-readme"
compare version version-readme "version in the table" README.md

# but_not_in FILE: of lines like those in `help`, those whose option FILE lacks
but_not_in() {
	awk '
		NR == FNR {
			for (i = 2; i <= NF; i++)
				if ($i ~ /^-/)
					not[$i]
			next
		}
		!($2 in not) && !($3 in not)' "$1" -
}
names() { # of all options that are named, from stdin
	grep -o 'Fl -\{0,1\}[A-Za-z][a-z-]*' | sed 's/^Fl /-/'
}
# what all verbs take, and --key, which is described once for all
grep -v '^run ' "$tmp/help" | sed 's/^[^ ]* //' | sort | uniq -c |
	awk -v n="$(wc -l <"$tmp/verbs")" '$1 == n || / --key /' >"$tmp/common"
for verb in $verbs; do
	subsection "$verb" <"$tmp/VERBS" >"$tmp/Ss"
	grep "^$verb " "$tmp/help" >"$tmp/its"
	but_not_in "$tmp/help-run" <"$tmp/its" >>"$tmp/own"
	options "$verb" <"$tmp/Ss" | but_not_in "$tmp/help-run" >>"$tmp/own-man"
	names <"$tmp/Ss" >"$tmp/named"
	but_not_in "$tmp/own" <"$tmp/its" | but_not_in "$tmp/common" |
		while read -r _ names; do
			echo "$names" | tr ' ' '\n' | grep -qxF -f "$tmp/named" ||
				echo "$man, VERBS: $verb: $names is not named"
		done >>"$tmp/unsaid"
	tr ' ' '\n' <"$tmp/its" >"$tmp/its-names"
	grep '^\.It ' "$tmp/Ss" | names | grep -vxF -f "$tmp/its-names" |
		sed "s|^|$man, VERBS: $verb: takes no |" >>"$tmp/unsaid" || true
done
compare own own-man option "$man, VERBS"
[ ! -s "$tmp/unsaid" ] || bad=1
cat "$tmp/unsaid"

# ---- JSON ----

grep -rho --include='*.[ch]' 'redlock\.[a-z]*/[0-9]*' src >"$tmp/schemas"
sed -n 's/^\.Ss //p' man/redlock-json.5 >"$tmp/schemas-man"
compare schemas schemas-man schema man/redlock-json.5

# ---- URLs ----

# rows of supported schemes: {"redis", "://", ..., NULL}
section SERVERS >"$tmp/servers"
sed -n 's/^\t{"\([a-z-]*\)", "\(:[/]*\)", .* NULL},$/\1\2/p' \
	src/cli/url.c >"$tmp/schemes"
sed -n 's/^\.\(It \)\{0,1\}Li //p' "$tmp/servers" | tr -s ' ' '\n' |
	grep -o '^[a-z-][a-z-]*:\(//\)\{0,1\}$' >"$tmp/schemes-man"
compare schemes schemes-man scheme "$man, SERVERS"

# the rows with OR_URL("name", ...) or ONLY_URL("name", ...)
sed -n 's/.*_URL("\([a-z-]*\)".*/\1/p' \
	src/cli/optrows.c >"$tmp/queries"
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
awk '$1 >= 64' "$tmp/enum" >"$tmp/enum-own"
sed -n '/^## Exit statuses/,/^## /s/^| \([0-9, ]*\) |.*/\1/p' README.md |
	tr -s ', ' '\n' >"$tmp/statuses-readme"
compare enum-own statuses-readme "exit status" README.md

# ---- variables ----

section ENVIRONMENT >"$tmp/environment"
cat src/cli/*.c src/cli/*/*.c | grep -o '"REDLOCK_[A-Z_]*="' | tr -d '"=' >"$tmp/given"
subsection "Given to the command" <"$tmp/environment" |
	awk '/^\.It Ev / { print $3 }' >"$tmp/given-man"
compare given given-man "variable for the command" "$man, ENVIRONMENT"

# read by getenv("NAME"), or from a table of names for getenv()
cat src/cli/*.c src/cli/*/*.c | awk '
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
echo REDLOCK_URL >>"$tmp/read" # opt_variable() makes this name
subsection "Read by redlock" <"$tmp/environment" |
	sed -n 's/^\.\(It \)\{0,1\}Ev //p' | tr -s ' ' '\n' |
	grep '^[A-Z]' >"$tmp/read-man"
compare read read-man "variable that is read" "$man, ENVIRONMENT"

# ---- "`f()` in `src/...`", "`f()` and `g()` in `src/...`" ----

# shellcheck disable=SC2016 # backquotes of Markdown
name='`[a-z_]*[()]*`'
grep -ho "$name\( and $name\)* in \`src/[a-z/.-]*\`" HACKING.md docs/protocol.md |
	tr -d '`()' | sed 's/ and / /g' >"$tmp/named"
[ -s "$tmp/named" ] || {
	echo "HACKING.md: names no functions; has the format changed?"
	bad=1
}
while read -r line; do
	file=${line##* in }
	for f in ${line%% in *}; do
		grep -qE "^[a-z].*[ *]$f(\(|\[)" "$file" || {
			echo "HACKING.md, docs/protocol.md: no $f in $file"
			bad=1
		}
	done
done <"$tmp/named"

exit $bad
