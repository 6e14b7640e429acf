/*
 * Memory that other processes of this host can open by name.  It is a file in memory.
 *
 * The memory exists as long as at least one process maps it.  Its name is valid as long as the
 * process that made the memory maps it.
 */
#ifndef BRAGG_TESTS_SHARED_FILE_H
#define BRAGG_TESTS_SHARED_FILE_H

#include <stdbool.h>
#include <stddef.h>

enum { SHARED_FILE_NAME_SIZE = 64 };

/* Name of a shared memory, which can be sent to other processes of the host. */
struct shared_file_name {
    unsigned char bytes[SHARED_FILE_NAME_SIZE];
};

/* Allocates zeroed memory, aligned to a page, and sets *name.  NULL: out of memory. */
void *shared_file_make(size_t bytes, struct shared_file_name *name);

/* Returns true if this process made the memory with this name. */
bool shared_file_is_own(const struct shared_file_name *name);

/* Maps the memory with this name for reading, and sets *has to its size.  NULL: there is no
 * memory with this name, or it is smaller than `bytes`. */
void *shared_file_open(const struct shared_file_name *name, size_t bytes, size_t *has);

/* Release the memory: shared_file_free in the process that made it, shared_file_close in other
 * processes.  NULL: do nothing. */
void shared_file_free(void *memory);
void shared_file_close(void *memory);

#endif
