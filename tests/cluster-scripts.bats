#!/usr/bin/env bats
# The scripts in a real Cluster, without the client: tests/sim/slots.c.

load lib/common
load lib/cluster
slots=$TEST_BIN/../sim/slots

setup_file() { cluster_start; }
in_cluster() { # TEST
	local primaries=("$cluster_dir"/c{1,2,3}.sock)

	"$slots" "$1" "${primaries[@]}" \
		"$cluster_dir/$(cluster_replica job).sock"
}

@test "R12 R24 R26 R28 R30 R33 R34 R38 R39 R40 every key of up to 3 letters of {}ab has all it needs in its slot; late and double answers" {
	in_cluster names
}

@test "P1 P2 a slot on the move loses no lock, and gives none twice" {
	in_cluster move
}

@test "S13 a Cluster that is down, and a replica, are asked again" {
	in_cluster down
}
