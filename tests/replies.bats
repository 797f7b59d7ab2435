#!/usr/bin/env bats
# Servers that answer what no server should: hostile ones, or merely odd. The
# fake ones are those of lib/fake.py.

load lib/common

# fake NAME [tcp]: the server that standard input defines, at $url
fake() {
	rm -f "$T/$1".{sock,py.port} # of another one by that name
	cat >"$T/$1.py"
	if [ "${2-}" = tcp ]; then
		helper /usr/bin/python3 "$top/tests/lib/fake.py" 127.0.0.1:0 \
			"$T/$1.py"
		wait_until exists "$T/$1.py.port"
		at=127.0.0.1:$(cat "$T/$1.py.port")
	else
		helper /usr/bin/python3 "$top/tests/lib/fake.py" \
			"$T/$1.sock" "$T/$1.py"
		wait_until exists "$T/$1.sock"
		url=unix://$T/$1.sock
	fi
}
# verb STATUS VERB ARGUMENT...: the answer is in $output, what was said in
# $stderr
verb() {
	local want=$1

	shift
	run --separate-stderr "$REDLOCK" "$1" -u "$url" "${@:2}"
	[ "$status" = "$want" ] || { echo "status $status: $output$stderr" >&2; return 1; }
}
# with 128 MB of addresses; sanitizers need more
small() { [ -n "${SANITIZED-}" ] || ulimit -v 131072; }

# ---- the primaries of a Cluster ----

# as many, each with one slot or more, at ports where nobody listens
cluster_of() { # N
	fake cluster tcp <<-END
		def answer(words):
		    if words[0] != b'CLUSTER':
		        return usual(words)
		    each = 16384 // $1
		    return [[i * each, i * each + each - 1,
		             ['127.77.%d.%d' % (i // 250, i % 250 + 1), 1, 'id']]
		            for i in range($1)]
	END
	url=redis-cluster://$at
}

@test "a Cluster of 1000 primaries is gone through; of more, nothing is, and that is said" {
	small
	cluster_of 1000
	verb 69 list
	[[ $stderr == *'127.77.'*'cannot connect'* ]]
	cluster_of 1001
	verb 78 list
	[[ $stderr == *"$at: CLUSTER SLOTS: more than 1000 primaries" ]]
	verb 78 list --json
	verb 78 doctor
	[[ $stderr == *"$at: CLUSTER SLOTS: more than 1000 primaries" ]]
	cluster_of 16384
	verb 78 list
	[[ $stderr == *'more than 1000 primaries' ]]
}

@test "CLUSTER SLOTS that says a slot twice, none, or nonsense is refused" {
	while read -r name said; do
		fake "$name" tcp <<-END
			def answer(words):
			    return $said if words[0] == b'CLUSTER' else usual(words)
		END
		url=redis-cluster://$at
		verb 78 list
		echo "$name: $stderr"
		[[ $stderr == *"$at: CLUSTER SLOTS: "* ]]
		[ -z "$output" ]
	done <<-'END'
		twice [[0, 16383, ['', port]], [0, 16383, ['', port]]]
		none []
		word b'+OK\r\n'
		high [[0, 16384, ['', port]]]
		back [[9, 1, ['', port]]]
		huge [[0, 9223372036854775807, ['', port]]]
		port [[0, 16383, ['', 0]]]
		ports [[0, 16383, ['', 65536]]]
		flat [0, 16383]
		deep [[[[[[0]]]]]]
	END
}
