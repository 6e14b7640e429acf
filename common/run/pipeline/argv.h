/* A command line that grows. */
#ifndef BRAGG_RUN_ARGV_H
#define BRAGG_RUN_ARGV_H

#include <stdbool.h>
#include <stddef.h>

struct argv {
    char **list;  // owned, as its words are; ended by NULL, with room for one word more
    size_t count, capacity;
    bool failed;  // memory was out
};

/* Takes ownership of `word`, from mem_array; NULL for one for which memory was out. */
void argv_add(struct argv *w, char *word);

/* Adds the words of a text, parted by blanks. */
void argv_add_words(struct argv *w, const char *text);

/* The four texts in one, which the caller frees with mem_free; NULL when memory is out. */
char *argv_join(const char *a, const char *b, const char *c, const char *d);

#endif
