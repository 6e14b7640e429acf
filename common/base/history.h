/*
 * The history of an output: one line of text per stage, from the first stage on, of words separated
 * by tabs.  The first word is the name of the stage; each further word is NAME=VALUE:
 *   - options that affect bytes;
 *   - other facts that affect bytes, such as "identity class", whose names have a blank;
 *   - "options given": words that give the same options again (base/text.h).  They add nothing
 *     except the names of files.
 */
#ifndef BRAGG_BASE_HISTORY_H
#define BRAGG_BASE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

enum { HISTORY_DIFFERENCE_SIZE = 256 };

/* Name of the value whose words give the options again. */
#define HISTORY_GIVEN "options given"

/* Name of a fact: the number of frames whose sum the image is. */
#define HISTORY_SUMMED "frames summed"

/* Appends one line to `history` (`size` bytes): `name`, and `more`, which has lines of NAME=VALUE.
 * Words without room are omitted, and the line then ends in "...". */
void history_append(char *history, size_t size, const char *name, const char *more);

/* Writes the value of `name` in a line to `value` (`size` bytes).  Returns false if the line does
 * not have it, or if there is no room. */
bool history_value(const char *line, const char *name, char *value, size_t size);

/* Writes a line without its options to `text` (`size` bytes, no newline): the stage, the options
 * given, and all facts that are not options.  The frames can be made again from such lines.
 * Returns false if there is no room. */
bool history_brief(const char *line, char *text, size_t size);

/* Writes the first difference between two histories to `text` ("bragg-orient: --seed was 7, is 8").
 * Returns false if they are equal. */
bool history_difference(const char *was, const char *is, char text[HISTORY_DIFFERENCE_SIZE]);

#endif
