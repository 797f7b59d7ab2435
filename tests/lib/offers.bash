# SPDX-License-Identifier: MIT
# offers.bash FOLDER LINE: what bash offers at the end of LINE, a candidate a
# line, with the completion of FOLDER.
. "$1/redlock"
COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=()
# As readline cuts it: at blanks that are not quoted, and at : and =
rest=$2
while [[ $rest =~ ^[[:blank:]]*([:=]+|([^:=[:blank:]\\]|\\.)+)(.*) ]]; do
	COMP_WORDS+=("${BASH_REMATCH[1]}")
	rest=${BASH_REMATCH[3]}
done
[[ $rest != [[:blank:]]* ]] || COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_redlock
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
