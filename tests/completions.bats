#!/usr/bin/env bats
# What the three completions offer, as the shells would: verbs, the options of a
# verb, keys of locks that exist, and still the command's own words.

load lib/common
eval "common_$(declare -f setup)"

setup() {
	common_setup
	mkdir "$T/bin"
	ln -s "$REDLOCK" "$T/bin/redlock"
	export REDLOCK_URL=$url PATH="$T/bin:$PATH" HOME=$T LC_ALL=C.UTF-8
}
files=$BATS_TEST_DIRNAME/../completions

# Each prints what is offered at the end of LINE, a candidate a line.
bash_offers() { # LINE
	timeout 20 bash --norc -c '. "$1/bash/redlock"
		COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=() blank="[[:blank:]]"
		# as readline splits: at blanks that are not quoted, at : and at =
		while [[ $2 =~ ^$blank*([:=]+|([^:=[:blank:]\\]|\\.)+)(.*) ]]; do
			COMP_WORDS+=("${BASH_REMATCH[1]}")
			set -- "$1" "${BASH_REMATCH[3]}"
		done
		[[ $COMP_LINE != *[^\\]\  ]] || COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_redlock
		printf "%s\n" "${COMPREPLY[@]}"' bash "$files" "$1" 3>&-
}
fish_offers() { # LINE
	timeout 20 fish -N -c 'source $argv[1]/fish/redlock.fish
		complete -C $argv[2]' "$files" "$1" 3>&- | cut -f 1
}
# zsh completes on a terminal only: what it was about to show is printed, in
# place of what it shows.
zsh_offers() { # LINE
	timeout 20 zsh -f -c 'zmodload zsh/zpty
		zpty z zsh -f -i
		zpty -w z "fpath=($1/zsh \$fpath)"
		zpty -w z "autoload -Uz compinit && compinit -u -D"
		zpty -w z "compadd() { local -a all; builtin compadd -A all \"\$@\"
			print -r -- OFFER:\${^all} >>\$T/offers; builtin compadd \"\$@\"; }"
		zpty -w z "offer() { BUFFER=\$LINE CURSOR=\${#LINE}
			zle complete-word; : >\$T/offered; zle kill-buffer }"
		zpty -w z "zle -N offer; bindkey ^X offer; : >\$T/ready"
		until [[ -e $T/ready ]]; do zpty -rt z; read -t 0.01 </dev/null; done
		zpty -wn z $'"'\\x18'"'
		until [[ -e $T/offered ]]; do zpty -rt z; sleep 0.01; done' \
		zsh "$files" 3>&- >/dev/null
}
