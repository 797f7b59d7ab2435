#!/bin/sh
# SPDX-License-Identifier: MIT
# REDLOCK in make check-valgrind: redlock under valgrind. An error becomes status 99.
# Definite leaks only: hiredis points into the middle of its strings.
exec valgrind -q --leak-check=full --errors-for-leak-kinds=definite \
	--show-leak-kinds=definite --error-exitcode=99 \
	"$VALGRIND_OF" "$@"
