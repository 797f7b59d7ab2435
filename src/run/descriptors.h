/* SPDX-License-Identifier: MIT */
/* The open files of this process. */
#ifndef RUN_DESCRIPTORS_H
#define RUN_DESCRIPTORS_H

/* Closes those from first to last. Safe between fork and exec. */
void descriptors_close(unsigned int first, unsigned int last);

#endif
