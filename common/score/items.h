/* Items of a line, and the columns that a title names. */
#ifndef BRAGG_SCORE_ITEMS_H
#define BRAGG_SCORE_ITEMS_H

enum { ITEMS_MAX = 64 };

/* Splits a line, which is overwritten, at blanks, tabs and a carriage return, up to #; -1: there
 * are more than ITEMS_MAX. */
int items_split(char *line, char *words[ITEMS_MAX]);

/* The place of a word, -1: it is not there. */
int items_find(char *const words[], int count, const char *word);

#endif
