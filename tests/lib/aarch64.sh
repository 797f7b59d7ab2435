#!/bin/sh
# SPDX-License-Identifier: MIT
# REDLOCK in make check-aarch64. In the list of processes it is called qemu.
exec qemu-aarch64-static "${0%/*}/../../redlock-static-aarch64" "$@"
