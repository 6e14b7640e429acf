/*
 * Requests (--add, --remove) to a bragg-run that is running.
 *
 * Requests and answers are files in the private folder of the run.  Only the user of the run can
 * write there, and from every host that shares the folder.
 *   wish-ID  the request: "add STAGE=N" or "remove STAGE=N"
 *   told-ID  the answer: "STATUS TEXT"
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

/* Sends a request to the run with this private folder, and waits up to 60 s for the answer, which
 * it prints to stdout.
 * STATUS_USAGE: the text is too long.  STATUS_FAILED: no answer.  Otherwise the status of the
 * answer, with its text as the error. */
enum status wish_make(const char *folder, bool remove, const char *text, struct error *e);

/* In the run: wish_take reads and removes the next request, and returns false if there is none;
 * wish_answer sends the answer. */
bool wish_take(const char *folder, struct wish *w);
void wish_answer(const char *folder, const struct wish *w, enum status status, const char *text);

#endif
