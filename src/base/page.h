/* SPDX-License-Identifier: MIT */
/*
 * Memory that every run touches is kept together, and begins with a page: the
 * first touch of a page, and the first after fork(), costs as much as a dozen
 * system calls, and a short command pays for each.
 */
#ifndef BASE_PAGE_H
#define BASE_PAGE_H

#define PAGE_BYTES 4096 /* larger elsewhere, where it is a hint only */
#define PAGE_ALIGNED _Alignas(PAGE_BYTES)

#endif
