#!/usr/bin/env bats
# Lists that must agree, and the layers of the source.

load lib/common

@test "--help, manual, completions and exit statuses agree with the code" {
	cd "$top"
	run -0 scripts/check-docs.sh "$REDLOCK"
}

@test "no file includes or calls against the layers" {
	cd "$top"
	run -0 scripts/check-layers.sh
}
