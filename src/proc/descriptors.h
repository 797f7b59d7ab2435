/* SPDX-License-Identifier: MIT */
/* The open files of this process. */
#ifndef PROC_DESCRIPTORS_H
#define PROC_DESCRIPTORS_H

/* Closes those from first to last. Safe between fork and exec. */
void descriptors_close(unsigned int first, unsigned int last);

#endif
