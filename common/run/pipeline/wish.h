/*
 * What users ask of a bragg-run that is running: files in its private folder, so that only they
 * can, and from every host that sees it.  "wish-ID" holds "add STAGE=N" or "remove STAGE=N",
 * "told-ID" the answer, "STATUS TEXT".
 */
#ifndef BRAGG_RUN_WISH_H
#define BRAGG_RUN_WISH_H

#include <stdbool.h>

#include "base/error.h"

enum { WISH_ID_SIZE = 20, WISH_TEXT_SIZE = 80 };

struct wish {
    char id[WISH_ID_SIZE];
    bool remove;
    char text[WISH_TEXT_SIZE];  // STAGE=N
};

/* Puts a wish into the folder of a run and waits for the answer, which goes to stdout. STATUS_USAGE
 * for a text that is too long, else with what the other says, STATUS_FAILED when it says nothing.
 */
enum status wish_make(const char *folder, bool remove, const char *text, struct error *e);

/* The other end: takes the next one; false when there is none. */
bool wish_take(const char *folder, struct wish *w);
void wish_answer(const char *folder, const struct wish *w, enum status status, const char *text);

#endif
