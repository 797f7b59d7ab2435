# SPDX-License-Identifier: MIT
# offers.bash FOLDER LINE: prints what bash offers at the end of LINE with the
# completion in FOLDER, one candidate a line.
. "$1/redlock"
COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=()
# Words as readline splits them: at unquoted blanks, and at : and =
rest=$2
while [[ $rest =~ ^[[:blank:]]*([:=]+|([^:=[:blank:]\\]|\\.)+)(.*) ]]; do
	COMP_WORDS+=("${BASH_REMATCH[1]}")
	rest=${BASH_REMATCH[3]}
done
[[ $rest != [[:blank:]]* ]] || COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_redlock
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
