# SPDX-License-Identifier: MIT
# offers.zsh FOLDER LINE: what zsh offers at the end of LINE, a candidate a line,
# with the completion _redlock of FOLDER. Needs a directory $T, and a file $DUMP,
# in which zsh finds what it knew the last time.
#
# zsh completes on a terminal only, so it gets one: a shell on it types LINE, and
# notes what its completion hands over.
zmodload zsh/zpty
export LINE=$2 FOLDER=$1
rm -f $T/offers $T/ready $T/offered
cat >$T/zshrc <<'END'
fpath=($FOLDER $fpath)
autoload -Uz compinit && compinit -u -d $DUMP
compadd() {
	local -a hits
	# with these it is asked what fits, and nothing is handed over
	if (( ! ${@[(I)-[OAD]]} )); then
		builtin compadd -A hits "$@"
		(( ! $#hits )) || print -rl -- $hits >>$T/offers
	fi
	builtin compadd "$@"
}
offer() {
	BUFFER=$LINE CURSOR=$#LINE
	zle complete-word
	BUFFER=
	: >$T/offered
}
zle -N offer
bindkey '^X' offer
: >$T/ready
END
await() {
	local end=$((SECONDS + 10)) seen

	until [[ -e $1 ]]; do
		zpty -rt terminal seen || sleep 0.01
		(( SECONDS < end )) || exit 1
	done
}
zpty -b terminal zsh -f -i
zpty -w terminal '. $T/zshrc'
await $T/ready
zpty -wn terminal $'\x18'
await $T/offered
zpty -d terminal
[[ ! -e $T/offers ]] || cat $T/offers
