/* A command line that is built word by word. */
#ifndef BRAGG_RUN_ARGV_H
#define BRAGG_RUN_ARGV_H

#include <stdbool.h>
#include <stddef.h>

struct argv {
    char **list;  // owned, with its words; ended by NULL, with room for one more word
    size_t count, capacity;
    bool failed;  // memory ran out; the list is then incomplete
};

/* Appends a word and takes ownership of it; it comes from mem_array.  NULL sets `failed`. */
void argv_add(struct argv *w, char *word);

/* Appends copies of the words of a text, which are separated by blanks. */
void argv_add_words(struct argv *w, const char *text);

/* Returns the concatenation of four texts; the caller frees it with mem_free.  NULL: no memory. */
char *argv_join(const char *a, const char *b, const char *c, const char *d);

#endif
