/*
 * Memory of this host that other processes open by its name: files in memory.  It stays as long as
 * anybody has it; its name is good as long as the process that made it has it.
 */
#ifndef BRAGG_BASE_NAMED_H
#define BRAGG_BASE_NAMED_H

#include <stdbool.h>
#include <stddef.h>

enum { NAMED_SIZE = 64 };

struct memory_name {
    unsigned char bytes[NAMED_SIZE];
};

/* Zeros, from a page on; NULL when there is none. */
void *named_make(size_t bytes, struct memory_name *name);

/* Whether this process made it. */
bool named_is_own(const struct memory_name *name);

/* The same memory, to be read, NULL when there is nothing of that name, or less than `bytes`; sets
 * *has to what it has. */
void *named_open(const struct memory_name *name, size_t bytes, size_t *has);

/* In the process that made it, and in others; NULL does nothing. */
void named_free(void *memory);
void named_close(void *memory);

#endif
