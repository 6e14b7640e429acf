/*
 * Memory of this host that other processes open by name: files in memory.  The memory exists as
 * long as any process maps it.  Its name is valid as long as the process that made it maps it.
 */
#ifndef BRAGG_BASE_SHARED_FILE_H
#define BRAGG_BASE_SHARED_FILE_H

#include <stdbool.h>
#include <stddef.h>

enum { SHARED_FILE_NAME_SIZE = 64 };

struct shared_file_name {
    unsigned char bytes[SHARED_FILE_NAME_SIZE];
};

/* Allocates zeroed memory, aligned to a page, and sets *name.  NULL: out of memory. */
void *shared_file_make(size_t bytes, struct shared_file_name *name);

/* Returns true if this process made the memory of that name. */
bool shared_file_is_own(const struct shared_file_name *name);

/* Maps that memory for reading, and sets *has to its size.  NULL: there is no memory of that name,
 * or it is smaller than `bytes`. */
void *shared_file_open(const struct shared_file_name *name, size_t bytes, size_t *has);

/* Release the memory: _free in the process that made it, _close in other processes.  NULL does
 * nothing. */
void shared_file_free(void *memory);
void shared_file_close(void *memory);

#endif
