#!/bin/sh
# SPDX-License-Identifier: MIT
# redlock under valgrind, as REDLOCK of a test: an error becomes status 99.
exec valgrind -q --leak-check=full --track-fds=no --error-exitcode=99 \
	"$VALGRIND_OF" "$@"
