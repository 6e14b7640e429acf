/*
 * Memory of this host that other processes open by its name: files in memory.  It stays as long as
 * anybody has it; its name is good as long as the process that made it has it.
 */
#ifndef BRAGG_BASE_SHARED_FILE_H
#define BRAGG_BASE_SHARED_FILE_H

#include <stdbool.h>
#include <stddef.h>

enum { SHARED_FILE_NAME_SIZE = 64 };

struct shared_file_name {
    unsigned char bytes[SHARED_FILE_NAME_SIZE];
};

/* Zeros, from a page on; NULL when there is none. */
void *shared_file_make(size_t bytes, struct shared_file_name *name);

/* Whether this process made it. */
bool shared_file_is_own(const struct shared_file_name *name);

/* The same memory, to be read, NULL when there is nothing of that name, or less than `bytes`; sets
 * *has to what it has. */
void *shared_file_open(const struct shared_file_name *name, size_t bytes, size_t *has);

/* In the process that made it, and in others; NULL does nothing. */
void shared_file_free(void *memory);
void shared_file_close(void *memory);

#endif
