#!/bin/sh
# SPDX-License-Identifier: MIT
# What REDLOCK names in make check-aarch64. The name in the list of processes is that
# of qemu.
exec qemu-aarch64-static "${0%/*}/../../redlock-static-aarch64" "$@"
