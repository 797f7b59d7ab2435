#!/usr/bin/env bats
# The hardening of the binary as it was built, read with readelf (binutils), which
# comes with every compiler.

bats_require_minimum_version 1.5.0

top=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
REDLOCK=${REDLOCK:-$top/redlock}
build=$(dirname "$REDLOCK")

setup() {
	[ -z "${SANITIZED:-}" ] || skip "a sanitizer has its own"
	if [ -e "$build/config.status" ] &&
		"$build/config.status" --config | grep -q -e '--disable-hardening'; then
		skip "built with --disable-hardening"
	fi
}
# The build directory is here, and was optimised: with -O0 there is no fortifying.
need_objects() {
	[ -e "$build/libredlock.a" ] || skip "no libredlock.a beside the program"
	if grep -q '^CFLAGS =.*-O0' "$build/Makefile"; then
		skip "built with -O0"
	fi
}
# The flags that configure found to work.
flags() { sed -n 's/^HARDEN_C[A-Z]*FLAGS = //p' "$build/Makefile"; }
# How many of our objects have a symbol that they do not define: REGEX
objects_with() {
	readelf -sW "$build/libredlock.a" | awk -v want="^($1)\$" '
		/^File: / { file = $0 }
		$7 == "UND" && $8 ~ want { has[file] = 1 }
		END { n = 0; for (f in has) n++; print n }'
}
objects() { ar t "$build/libredlock.a" | wc -l; }

@test "the program is loaded anywhere (PIE), and its tables are read-only before main()" {
	if [ -e "$build/config.status" ] &&
		"$build/config.status" --config | grep -q -e '-no-pie' -e '-static'; then
		skip "built with -static or -no-pie, as was wished"
	fi
	run -0 readelf -hldW "$REDLOCK"
	grep -Eq '^ +Type: +DYN ' <<<"$output"
	grep -Eq 'FLAGS_1.* PIE' <<<"$output"
	grep -Eq '^ +GNU_RELRO ' <<<"$output"
	grep -Eq 'BIND_NOW|FLAGS_1.* NOW' <<<"$output"
}

@test "no code is on the stack, in data, or patched when it is loaded" {
	run -0 readelf -ldW "$REDLOCK"
	grep -Eq '^ +GNU_STACK .* RW +' <<<"$output"
	[ -z "$(grep -E '^ +[A-Z_]+ .* R?WE |TEXTREL' <<<"$output")" ]
}

@test "our own code has the stack protector, and checks the bounds of its buffers" {
	need_objects
	# most have a buffer on the stack, or write to one
	[ "$(objects_with __stack_chk_fail)" -ge "$(($(objects) / 3))" ]
	# (musl has no functions that check)
	"$REDLOCK" --version | grep -qx 'libc: not glibc' ||
		[ "$(objects_with '__[a-z]+_chk')" -ge "$(($(objects) / 3))" ]
	# and what is linked from elsewhere is not taken for ours
	[ "$(objects_with '__no_such_chk')" = 0 ]
}

@test "jumps land where they may, on processors that look" {
	local text

	need_objects
	[[ " $(flags | tr '\n' ' ') " == *' -fcf-protection '* ]] ||
		skip "not of this processor, or compiler"
	text=$(readelf -nW "$build/libredlock.a")
	[ "$(grep -c 'IBT, SHSTK' <<<"$text")" = "$(objects)" ]
}

@test "less than 1 MB of memory is only reserved" {
	# (ulimit -d and strict overcommit count it for every run and fork)
	[ "$(size -A "$REDLOCK" | awk '$1 == ".bss" { print $2 }')" -lt 1048576 ]
}
