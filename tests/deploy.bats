#!/usr/bin/env bats
# What we give to those who deploy redlock: the action, the GitLab component, the
# units, the manifests. The shell that runs here is read from the files themselves.

load lib/common
eval "common_$(declare -f setup)"

setup() {
	common_setup
	PATH=$(dirname "$REDLOCK"):$PATH
	export REDLOCK_URL=$url
}
at() { "$top/tests/lib/yamlat.py" "$top/$1" "${@:2}"; }

# A release directory, as `make release` lays it: $T/web/v9.8.7
release() {
	local dir=$T/web/v9.8.7

	mkdir -p "$dir"
	name=redlock-9.8.7-linux-$(uname -m)
	cp "$REDLOCK" "$dir/$name"
	(cd "$dir" && sha256sum "$name" >SHA256SUMS)
	releases=file://$T/web
}

@test "install-release: puts the file of this machine in place, if its checksum agrees" {
	release
	run -0 env VERSION=v9.8.7 RELEASES="$releases/" \
		"$top/scripts/install-release.sh" "$T/bin"
	[[ $output = "redlock "* ]]
	cmp "$REDLOCK" "$T/bin/redlock"
	[ "$(ls -A "$T/bin")" = redlock ]
	# the checksum that the user gave counts, not the one beside the file
	sum=$(sha256sum <"$REDLOCK")
	rm -r "$T/bin" "$T/web/v9.8.7/SHA256SUMS"
	run -0 env SHA256="${sum%% *}" VERSION=9.8.7 RELEASES="$releases" \
		"$top/scripts/install-release.sh" "$T/bin"
	run -65 env SHA256="${sum//[0-9]/0}" VERSION=9.8.7 RELEASES="$releases" \
		"$top/scripts/install-release.sh" "$T/other"
	[[ $output = *"$name: wrong checksum; nothing is installed" ]]
	[ ! -e "$T/other" ]
}

@test "install-release: a file that is changed, not listed or missing is not installed" {
	release
	echo >>"$T/web/v9.8.7/$name"
	run -65 env VERSION=9.8.7 RELEASES="$releases" \
		"$top/scripts/install-release.sh" "$T/bin"
	: >"$T/web/v9.8.7/SHA256SUMS"
	run -65 env VERSION=9.8.7 RELEASES="$releases" \
		"$top/scripts/install-release.sh" "$T/bin"
	[[ $output = *"SHA256SUMS does not name $name" ]]
	run -69 env VERSION=1.0 RELEASES="$releases" \
		"$top/scripts/install-release.sh" "$T/bin"
	[[ $output = *"cannot download $releases/v1.0/redlock-1.0-linux-$(uname -m)" ]]
	[ ! -e "$T/bin" ]
}

@test "action.yml: its step installs redlock and adds it to PATH" {
	release
	[ "$(at action.yml runs using)" = composite ]
	[ "$(at action.yml runs steps 0 shell)" = bash ]
	at action.yml runs steps 0 run >"$T/step"
	GITHUB_ACTION_PATH=$top GITHUB_PATH=$T/path RUNNER_TEMP="$T/runner temp" \
		VERSION=9.8.7 SHA256='' RELEASES=$releases \
		bash --noprofile --norc -eo pipefail "$T/step"
	found=$(PATH=$(cat "$T/path"):/bin; type -P redlock)
	[ "$found" = \
		"$T/runner temp/redlock-bin/redlock" ]
	# each input is handed on, under the name that the script reads
	at action.yml runs steps 0 env >"$T/env"
	for input in $(at action.yml inputs | tr -d '{}":,' | grep -o '\b\(version\|sha256\|releases\)\b' | sort -u); do
		grep -q "\"${input^^}\": \"\${{ inputs.$input }}\"" "$T/env"
	done
}

@test "GitLab component: its before_script installs redlock for the script of the job" {
	release
	{
		echo 'set -eo pipefail'
		at templates/redlock.yml 1 .redlock before_script
		at examples/ci/gitlab.yml deploy script
	} >"$T/job"
	mkdir -p "$T/project"
	echo '#!/bin/sh
		echo "deployed from $PWD, fence ${REDLOCK_FENCE:?}"' >"$T/project/deploy.sh"
	chmod +x "$T/project/deploy.sh"
	for shell in bash sh; do
		# a tag begins with v
		version=9.8.7
		[ $shell = bash ] || version=v9.8.7 releases=$releases/
		run -0 --separate-stderr env PATH=/usr/bin:/bin CI_BUILDS_DIR="$T/builds" CI_JOB_ID=7 \
			CI_PROJECT_DIR="$T/project" CI_ENVIRONMENT_SLUG=prod \
			INSTALL_VERSION=$version INSTALL_RELEASES="$releases" INSTALL_SHA256= \
			$shell -e <(grep -v "^set -eo" "$T/job")
		[[ $output = *"deployed from $T/project, fence "* ]]
		rm -r "$T/builds"
	done
	echo >>"$T/web/v9.8.7/$name"
	run ! env PATH=/usr/bin:/bin CI_BUILDS_DIR="$T/builds" CI_JOB_ID=7 \
		CI_PROJECT_DIR="$T/project" CI_ENVIRONMENT_SLUG=prod \
		INSTALL_VERSION=9.8.7 INSTALL_RELEASES="$releases" INSTALL_SHA256= \
		bash "$T/job"
	[[ $output != *deployed* ]]
}

# The line of a CI job, run as that system runs it: TERM or INT to the process
# that it started must end the command and free the lock.
cancel() { # SIGNAL LINE
	cd "$T"
	printf '%s\n' '#!/bin/sh' 'echo >began' 'exec linger' >deploy.sh
	chmod +x deploy.sh
	rm -f began
	helper launch --default all bash --noprofile --norc -eo pipefail -c "$2"
	wait_until exists began
	kill "-$1" "${helpers##* }"
	"$REDLOCK" -w 20s -k deploy-production -- true
	wait_until nobody "${helpers##* }"
}
nobody() { ! kill -0 "$1" 2>/dev/null; }
@test "CI examples: a canceled job ends its command and frees the lock" {
	cancel INT "$(at examples/ci/github.yml jobs deploy steps 2 run)"
	cancel TERM "$(at examples/ci/buildkite.yml steps 0 command)"
	cancel TERM "$(sed -n "s/^ *sh '\(exec redlock .*\)'$/\1/p" "$top/examples/ci/Jenkinsfile")"
}

@test "Kubernetes: the container of the job takes the lock with the mounted secret" {
	local c='spec jobTemplate spec template spec containers 0' words
	cli a config set requirepass s3cret >/dev/null
	echo s3cret >"$T/password"
	chmod 400 "$T/password"
	printf '%s\n' '#!/bin/sh' 'echo "nightly, fence ${REDLOCK_FENCE:?}"' >"$T/nightly"
	chmod +x "$T/nightly"
	# shellcheck disable=SC2086
	mapfile -t words < <(at examples/kubernetes/cronjob.yaml $c command
		at examples/kubernetes/cronjob.yaml $c args)
	# shellcheck disable=SC2086
	[[ $(at examples/kubernetes/cronjob.yaml $c env) = \
		*'"REDLOCK_PASSWORD_FILE", "value": "/run/secrets/redlock/password"'* ]]
	run -0 --separate-stderr env PATH="$T:$PATH" REDLOCK_PASSWORD_FILE="$T/password" "${words[@]}"
	[[ $output = "nightly, fence "* ]]
	# on the second cluster
	run -0 --separate-stderr env PATH="$T:$PATH" REDLOCK_PASSWORD_FILE="$T/password" "${words[@]}"
	[ -z "$output" ]
	[[ $stderr = *"already ran"* ]]
	for file in redis.yaml cronjob.yaml migrate.yaml; do at "examples/kubernetes/$file"; done
	REDISCLI_AUTH=s3cret cli a config set requirepass '' >/dev/null
}

# Each pod of the release runs the init container's line, in the labels' release.
pods() { # RELEASE N: "$pod" are their processes
	local c='spec template spec initContainers 0' yaml=examples/kubernetes/migrate.yaml
	local words i
	# shellcheck disable=SC2086
	mapfile -t words < <(at $yaml $c command && at $yaml $c args)
	# shellcheck disable=SC2086
	[[ $(at $yaml $c env) = *'"name": "REDLOCK_ONCE_FOR", "valueFrom": '*"labels['release']"* ]]
	pod=()
	for ((i = 0; i < $2; i++)); do
		REDLOCK_ONCE_FOR=$1 PATH=$T:$PATH launch --default all "${words[@]}" 2>"$T/err.$1.$i" 3>&- &
		pod+=($!)
		helpers="$helpers $!"
	done
}
@test "Kubernetes: of eight init containers one migrates; one that is killed is replaced" {
	local n i holder
	printf '%s\n' '#!/bin/sh' 'echo begin >>"${0%/*}/runs"' \
		'while [ -e "${0%/*}/slow" ]; do sleep 0.05; done' \
		'[ ! -e "${0%/*}/broken" ] || { echo failed >>"${0%/*}/runs"; exit 3; }' \
		'echo end >>"${0%/*}/runs"' >"$T/migrate"
	chmod +x "$T/migrate"
	: >"$T/slow"
	pods 42 8
	wait_until eval '[ "$(queue_of shop:migrate)" = 7 ]'
	holder=$(redlock inspect shop:migrate --json | grep -o '"pid":[0-9]*' | head -n 1)
	holder=${holder#*:}
	kill -9 "$holder" # with all its memory, as the kernel's OOM killer does
	wait_until eval '[ "$(runs)" = "begin begin " ]'
	rm "$T/slow"
	for ((i = 0; i < 8; i++)); do
		n=0
		wait "${pod[i]}" || n=$?
		[ "$n" = "$([ "${pod[i]}" = "$holder" ] && echo 137 || echo 0)" ]
	done
	[ "$(runs)" = 'begin begin end ' ]
	[ "$(cat "$T"/err.42.* | grep -c ': already ran for 42 on ')" = 6 ]
	# a pod that starts later, and the next release, whose migrations fail at first
	pods 42 1
	wait "${pod[0]}"
	: >"$T/broken"
	pods 43 1
	n=0
	wait "${pod[0]}" || n=$?
	[ "$n" = 3 ]
	rm "$T/broken"
	pods 43 8
	wait "${pod[@]}"
	[ "$(runs)" = 'begin begin end begin failed begin end ' ]
}
runs() { tr '\n' ' ' <"$T/runs"; }
queue_of() { cli a zcount "$1:redlock:{$1}:queue" 0 +inf; }

@test "compose: two replicas of the worker take turns" {
	local words i
	mapfile -t words < <(at examples/compose/compose.yaml services worker command)
	export WORK_SECONDS=0.2
	for i in 1 2; do
		PATH=$top/examples/compose:$PATH helper sh -c '"$@" >>"$0"' "$T/out" "${words[@]}"
	done
	wait_until finished 2
	[ "$(sed 's/.*: //; s/,.*//' "$T/out" | tr '\n' ' ')" = 'working done working done ' ]
}
finished() { [ "$(grep -c 'done$' "$T/out")" = "$1" ]; }

@test "PID 1 of a container: passes TERM on, reaps orphans, ends with the status" {
	local space=(unshare -Upf --kill-child --map-root-user --mount-proc)
	"${space[@]}" true 2>/dev/null || skip 'may not make a PID namespace'
	run -3 "${space[@]}" "$REDLOCK" -k job -- sh -c '
		(setsid sh -c "exit 0" &)
		while pgrep -r Z . >/dev/null; do :; done
		exit 3'
	cd "$T"
	helper "${space[@]}" "$REDLOCK" -k job -- sh -c 'echo >began; exec linger'
	wait_until exists began
	tool=$(pgrep -P "${helpers##* }")
	kill -TERM "$tool"
	wait_until nobody "$tool"
	"$REDLOCK" -n -k job -- true
}

@test "systemd: the units are valid, and their lines run" {
	command -v systemd-analyze >/dev/null || skip 'no systemd-analyze'
	mkdir "$T/units"
	cp "$top"/examples/systemd/* "$T/units"
	mv "$T/units/redlock@.service" "$T/units/redlock@x.service"
	for unit in report.service report.timer redlock@x.service; do
		run -0 systemd-analyze verify --man=no "$T/units/$unit"
		[ -z "$output" ] || { echo "$output" >&2; false; }
	done
	# as systemd would: ${COMMAND} and %i are replaced within one word
	line=$(sed -n 's/^ExecStart=//p' "$top/examples/systemd/redlock@.service")
	line=${line//%i/dispatcher}
	line=${line/'${COMMAND}'/echo ran as \"\$REDLOCK_KEY\"}
	run -0 --separate-stderr bash -c "$line"
	[ "$output" = 'ran as dispatcher' ]
	line=$(sed -n 's/^ExecStart=//p' "$top/examples/systemd/report.service")
	echo >"$T/redis"
	chmod 400 "$T/redis"
	printf '%s\n' '#!/bin/sh' 'echo reported' >"$T/report"
	chmod +x "$T/report"
	run -0 --separate-stderr env PATH="$T:$PATH" CREDENTIALS_DIRECTORY="$T" \
		bash -c "${line/--password-file \$\{CREDENTIALS_DIRECTORY\}\/redis /}"
	[ "$output" = reported ]
}

# The command in the header of the playbook, with our places and our server, for the
# hosts `localhost` and, if $T/bad is there, `bad`: what it downloads was changed.
# (Ansible looks for the architecture only, which is all that the playbook asks.)
playbook() { # [OPTION...]
	local words host

	read -ra words < <(sed -n 's/^# *\(ansible-playbook .*\)$/\1/p' \
		"$top/examples/ansible/redlock.yml")
	[ "${words[*]}" = 'ansible-playbook -i hosts redlock.yml -e redlock_version=1.0.0' ]
	words[-1]=redlock_version=${version:-9.8.7}
	for host in localhost $(cd "$T" && ls -d bad 2>/dev/null); do
		echo "$host ansible_connection=local" \
			ansible_python_interpreter=/usr/bin/python3
	done >"$T/hosts"
	cp "$top/examples/ansible/redlock.yml" "$T"
	# (doctor finds the settings in the place of the user's)
	(cd "$T" && env -u REDLOCK_URL HOME="$T/home" ANSIBLE_LOCALHOST_WARNING=no \
		ANSIBLE_PIPELINING=yes ANSIBLE_GATHER_SUBSET='!all,!min,platform' \
		XDG_CONFIG_HOME="$T/etc" "${words[@]}" -e ansible_become=no \
		-e '{"redlock_releases": "'"$releases{{ '/../bad' if \
			inventory_hostname == 'bad' else '' }}"'"}' \
		-e redlock_url="$url" -e redlock_settings="$T/etc/redlock" \
		-e '{"redlock_program": "'"$T/bin/{{ 'bad' if \
			inventory_hostname == 'bad' else 'redlock' }}"'"}' "$@")
}
@test "Ansible: the playbook installs and sets up, with and without a password" {
	command -v ansible-playbook >/dev/null || skip 'no ansible-playbook'
	release
	mkdir "$T/bin" "$T/etc" "$T/home"
	run -0 playbook
	[[ $output = *'changed=3 '*' failed=0 '* ]]
	cmp "$REDLOCK" "$T/bin/redlock"
	[ "$(cat "$T/etc/redlock/config")" = "url = $url" ]
	# with a password from now on; the program is there; and one that was changed is
	# not installed
	cp -r "$T/web" "$T/bad"
	echo >>"$T/bad/v9.8.7/$name"
	cli a config set requirepass s3cret >/dev/null
	version=v9.8.7 releases=$releases run -2 playbook -e redlock_password=s3cret
	[[ $output =~ 'localhost '[^$'\n']*' changed=2 '[^$'\n']*' failed=0 ' ]]
	[[ $output =~ 'bad '[^$'\n']*' changed=0 '[^$'\n']*' failed=1 ' ]]
	[[ $output = *'bad'*'checksum'* ]]
	[ ! -e "$T/bin/bad" ]
	[ "$(stat -c %a "$T/etc/redlock/password")" = 600 ]
	env -u REDLOCK_URL XDG_CONFIG_HOME="$T/etc" "$T/bin/redlock" -k job -- true
	# the host is as it should be
	rm -r "$T/bad"
	run -0 playbook -e redlock_password=s3cret
	[[ $output = *'changed=0 '*' failed=0 '* ]]
	REDISCLI_AUTH=s3cret cli a config set requirepass '' >/dev/null
}

@test "workflows: what they run exists, and is the same for GitHub and GitLab" {
	[ "$(at .github/workflows/build.yml jobs check steps 1 run)" = .ci/run ]
	[ "$(at .gitlab-ci.yml check script)" = .ci/run ]
	[ -x "$top/.ci/run" ] || bash -n "$top/.ci/run"
	at .github/workflows/release.yml jobs release steps 2 run >"$T/github"
	at .gitlab-ci.yml release script >"$T/gitlab"
	# with a bootstrap that says what it is asked for
	printf '%s\n' '#!/bin/sh' 'echo "$0 $*"' >"$T/bootstrap"
	chmod +x "$T/bootstrap"
	cd "$T"
	export HOME=$T
	run -0 env TAG=v1.2.3 bash -eo pipefail github
	[ "$output" = './bootstrap release VERSION=1.2.3' ]
	run -0 env CI_COMMIT_TAG=v1.2.3 bash -eo pipefail gitlab
	[ "$output" = './bootstrap release VERSION=1.2.3' ]
}

# A tree that can be released as 9.8.7, with stand-ins for what takes long.
release_tree() {
	mkdir "$T/tree"
	cd "$T/tree"
	cp -r "$top"/{NEWS,README.md,man,packaging,scripts} .
	mkdir debian
	echo 'redlock (9.8.7-1) unstable; urgency=medium' >debian/changelog
	sed -i '1s/.*/redlock 9.8.7/' NEWS
	sed -i 's/^Version: .*/Version: 9.8.7/; s/^pkgver=.*/pkgver=9.8.7/' packaging/*
	sed -i 's/\(redlock[-_]\|VERSION=\)[0-9.]*[0-9]/\19.8.7/g' README.md
	sed -i "s/^\.Dd .*/.Dd $(LC_ALL=C date '+%B %d, %Y')/" man/*.?
	printf '#!/bin/sh\necho redlock 9.8.7\n' >redlock
	printf '#!/bin/sh\necho "static for $1" >redlock-static-$1\n' >scripts/static.sh
	printf '#!/bin/sh\necho source >redlock-9.8.7.tar.gz\n: >redlock_9.8.7-1_amd64.deb\n' >make
	chmod +x redlock make scripts/static.sh
	git init -q
	git add -A
	git -c user.name=t -c user.email=t@t commit -qm t
}
@test "release: refused if version, NEWS, manual, recipes or tag disagree" {
	local file change told

	command -v git >/dev/null || skip 'no git'
	release_tree
	run -0 scripts/release.sh --check 9.8.7
	[ -z "$output" ]
	run -1 scripts/release.sh --check 9.8.8
	[ "${#lines[@]}" = 7 ]
	while IFS='|' read -r file change told; do
		cp "$file" "$T/good"
		sed -i "$change" "$file"
		run -1 scripts/release.sh --check 9.8.7
		[ "$output" = "release: ${told/@/$(date +%F)}" ] || { echo "$output" >&2; false; }
		cp "$T/good" "$file"
	done <<-'END'
		redlock|s/9.8.7/9.8.6/|redlock --version says 9.8.6, not 9.8.7 (configure.ac)
		NEWS|1s/9.8.7/9.8.6/|NEWS begins with 9.8.6, not 9.8.7
		debian/changelog|1s/9.8.7/9.8.6/|debian/changelog begins with 9.8.6, not 9.8.7
		packaging/APKBUILD|s/=9.8.7/=9.8.6/|packaging/APKBUILD is for 9.8.6, not 9.8.7
		README.md|s/redlock_9.8.7/redlock_9.8.6/|README.md names files of 9.8.6 9.8.7, not 9.8.7
		man/redlock.1|s/^.Dd .*/.Dd Smarch 1, 2026/|man/redlock.1: no date: .Dd Smarch 1, 2026
		man/redlock.1|s/^.Dd .*/.Dd January 1, 2020/|man/redlock.1: .Dd January 1, 2020, but it was changed on @
	END
	sed -i 's/^.Dd .*/.Dd January 1, 2020/' man/redlock.1
	git -c user.name=t -c user.email=t@t commit -qam t
	run -1 scripts/release.sh --check 9.8.7
	[ "$output" = "release: man/redlock.1: .Dd January 1, 2020, but it was changed on $(
		)$(git log -1 --format=%cs)" ]
	# without its history nobody knows when a page was changed
	git clone -q --depth 1 "file://$PWD" shallow
	(cd shallow && "$PWD/scripts/release.sh" --check 9.8.7)
	rm -r shallow
	git reset -q --hard HEAD~1
	git tag v9.8.6
	run -1 scripts/release.sh --check 9.8.7
	[ "$output" = 'release: the tag is v9.8.6, not v9.8.7' ]
}

@test "release: its files, their checksums and the list of what is linked in" {
	command -v git >/dev/null || skip 'no git'
	release_tree
	MAKE=./make run -0 scripts/release.sh 9.8.7
	cd release
	sha256sum --quiet -c SHA256SUMS
	[ "$(ls | tr '\n' ' ')" = "SHA256SUMS redlock-9.8.7-linux-aarch64 redlock-9.8.7-linux-x86_64 $(
		)redlock-9.8.7.cdx.json redlock-9.8.7.tar.gz redlock_9.8.7-1_amd64.deb " ]
	[ "$(wc -l <SHA256SUMS)" = 5 ]
	/usr/bin/python3 - "$top/packaging/static.sources" redlock-9.8.7.cdx.json <<-'END'
		import json, sys
		listed = json.load(open(sys.argv[2]))
		assert listed["metadata"]["component"]["version"] == "9.8.7"
		found = [[c["name"], c["version"], c["hashes"][0]["content"], c["licenses"][0]["license"]["id"]]
		         for c in listed["components"]]
		assert found == [l.split() for l in open(sys.argv[1]) if not l.startswith("#")], found
	END
	cd ..
	echo >>NEWS
	MAKE=./make run -1 scripts/release.sh 9.8.7
	[[ $output = *'not committed'* ]]
}

@test "every source file names its license" {
	cd "$top"
	git rev-parse -q --git-dir >/dev/null 2>&1 || skip 'not a git checkout'
	unnamed=$(git ls-files '*.c' '*.h' '*.lua' '*.sh' '*.bash' '*.py' '*.pml' \
		'Containerfile' '*.yml' '*.mk' configure.ac Makefile.am bootstrap scripts |
		grep -v '^examples/ci/' | sort -u | while read -r file; do
		head -n 5 "$file" | grep -q 'SPDX-License-Identifier: MIT' || echo "$file"
	done)
	[ -z "$unnamed" ] || { echo "no SPDX line: $unnamed" >&2; false; }
}

@test "monitoring: each alert is about a metric that is printed" {
	local metric n=0

	"$REDLOCK" -k nightly -- true
	"$REDLOCK" -k nightly -- sleep 600 2>/dev/null 3>&- &
	helpers="$helpers $!"
	wait_until held nightly
	"$REDLOCK" list --prometheus >"$T/metrics"
	at examples/monitoring/alerts.yml groups 0 rules >"$T/rules"
	for metric in $(grep -o 'redlock_[a-z_]*' "$T/rules" | sort -u); do
		grep -q "^$metric{.*} " "$T/metrics" || { echo "no $metric" >&2; return 1; }
		n=$((n + 1))
	done
	[ "$n" = 4 ]
	grep -q '^redlock_last_success_timestamp_seconds{key="nightly"}' "$T/metrics"
	kill "${helpers##* }"
	wait_until free nightly
}
