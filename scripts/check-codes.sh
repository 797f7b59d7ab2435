#!/bin/sh
# SPDX-License-Identifier: MIT
# check-codes.sh [TOP]: compares the codes at the beginning of test names ("S17 a
# lock deleted by hand ...", "P1 P2 P6 ...") with docs/protocol.md and docs/faults.md.
#
# A code must be defined there exactly once, by a row of a table whose first column
# is headed "Code". It must have a test or a line with the reason, but not both:
#	- S28: no test: the reason
#	- I1, I2: no test: the reason
# The codes of a family are numbered from 1 without gaps, so a malformed row is
# noticed. Prints a line for each offence; the status is then 1.
set -eu
LC_ALL=C
export LC_ALL
cd "${1:-.}"

# shellcheck disable=SC2016 # the dollars are awk's
awk -v doc=docs -v families='P S N C U I' '
	function is_doc() { return FILENAME ~ /^docs\// }
	function offence(where, text) {
		print where ": " text
		bad = 1
	}
	function define(code) {
		if (code in defined)
			offence(doc, code " is defined twice")
		else
			order[++n] = code
		defined[code]
		family = substr(code, 1, 1)
		number = substr(code, 2) + 0
		if (number > last[family] + 0)
			last[family] = number
	}
	# "- S28: no test: why", or "- S28, S29: no test: why"
	function excuse(line, codes, i, k) {
		sub(/^- /, "", line)
		sub(/: no test: .*/, "", line)
		k = split(line, codes, ", ")
		for (i = 1; i <= k; i++) {
			if (codes[i] in excused)
				offence(doc, codes[i] " is said twice to have no test")
			excused[codes[i]]
			excuses[++m] = codes[i]
		}
	}

	# ---- the document ----

	is_doc() && /^\| *Code *\|/ { table = 1; next }
	is_doc() && table && /^[|: -]+$/ { next }
	is_doc() && /^\|/ {
		k = split($0, cell, "|")
		code = cell[2]
		gsub(/ /, "", code)
		if (code !~ /^[A-Z][0-9]+$/) {
			if (table)
				offence(doc, "this row has no code: " $0)
		} else if (!table) {
			offence(doc, code " stands in a table whose first" \
			    " column is not headed \"Code\"")
		} else if (k < 4 || cell[3] !~ /[A-Za-z]/) {
			offence(doc, code " has no text")
		} else {
			define(code)
		}
		next
	}
	is_doc() { table = 0 }
	is_doc() && /^- [A-Z][0-9]+(, [A-Z][0-9]+)*: no test: [^ ]/ {
		excuse($0)
		next
	}
	is_doc() && /^[^A-Za-z]*[A-Z][0-9]+.*no test/ {
		offence(doc, "not of the form \"- CODE: no test:" \
		    " REASON\": " $0)
	}

	# ---- the tests ----

	!is_doc() && /^[ \t]*@test[ \t]/ {
		name = $0
		sub(/^[ \t]*@test[ \t]+/, "", name)
		sub(/^["\047]/, "", name)
		shown = name
		sub(/["\047]?[ \t]*[{][ \t]*$/, "", shown)
		while (match(name, /^[A-Z][0-9][^ \t]*/)) {
			code = substr(name, 1, RLENGTH)
			name = substr(name, RLENGTH + 1)
			sub(/^[ \t]+/, "", name)
			if (code !~ /^[A-Z][0-9]+$/)
				offence(FILENAME, code " is no code: " shown)
			else if (!(code in defined))
				offence(FILENAME, code " is not defined in " \
				    doc ": " shown)
			else if (!(code in tested))
				tested[code] = FILENAME
			coded++
		}
	}

	# ---- both ----

	END {
		k = split(families, family_of, " ")
		for (i = 1; i <= k; i++)
			if (!(family_of[i] in last))
				offence(doc, "found no codes " family_of[i] \
				    "1, " family_of[i] "2, ... at all: has" \
				    " the form of the tables changed?")
		for (i = 1; i <= n; i++) {
			family = substr(order[i], 1, 1)
			for (k = 1; k < last[family]; k++)
				if (!((family k) in defined))
					offence(doc, family k " is missing")
			last[family] = 0 # once is enough
		}
		if (!coded)
			offence("tests", "found no test whose name begins" \
			    " with a code: has the form of the names changed?")
		for (i = 1; i <= m; i++)
			if (!(excuses[i] in defined))
				offence(doc, excuses[i] " is said to have no" \
				    " test, but is not defined")
		for (i = 1; i <= n; i++) {
			code = order[i]
			if ((code in tested) && (code in excused))
				offence(doc, code " is said to have no test," \
				    " but " tested[code] " has one")
			else if (!(code in tested) && !(code in excused))
				offence(doc, code " has no test, and no line" \
				    " says why")
		}
		exit bad
	}
' docs/*.md tests/*.bats
