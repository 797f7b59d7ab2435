# SPDX-License-Identifier: MIT
# offers.zsh FOLDER: prints, for each line of standard input, what zsh offers at its
# end with the completion _redlock in FOLDER: one candidate a line, then "end". Needs
# a directory $T, and a file $DUMP for zsh's cache.
#
# zsh completes only on a terminal, so it gets one. A shell there types the line and
# writes down what the completion passes on.
zmodload zsh/zpty zsh/zselect
export FOLDER=$1
rm -f $T/ready
cat >$T/zshrc <<'END'
fpath=($FOLDER $fpath)
autoload -Uz compinit && compinit -u -d $DUMP
compadd() {
	local -a hits
	# with these options it is only asked what matches
	if (( ! ${@[(I)-[OAD]]} )); then
		builtin compadd -A hits "$@"
		(( ! $#hits )) || print -rl -- $hits >>$T/offers
	fi
	builtin compadd "$@"
}
offer() {
	BUFFER=$(<$T/line) CURSOR=$#BUFFER
	zle complete-word
	BUFFER=
	: >$T/offered
}
zle -N offer
bindkey '^T' offer
: >$T/ready
END
await() {
	local end=$((SECONDS + 10)) seen

	until [[ -e $1 ]]; do
		zpty -rt terminal seen || zselect -t 1
		(( SECONDS < end )) || exit 1
	done
}
zpty -b terminal zsh -f -i
zpty -w terminal '. $T/zshrc'
await $T/ready
while IFS= read -r line; do
	rm -f $T/offers $T/offered
	print -rn -- $line >$T/line
	zpty -wn terminal $'\x14'
	await $T/offered
	[[ ! -e $T/offers ]] || cat $T/offers
	print end
done
zpty -d terminal
