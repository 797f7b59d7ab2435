/* SPDX-License-Identifier: MIT */
/*
 * A fuzz target: one function that takes any bytes and calls abort() if a
 * condition does not hold. libFuzzer calls it (make fuzz), and so does replay.c
 * (make check), with the files of tests/fuzz/NAME as a start.
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

extern const char fuzz_name[];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
