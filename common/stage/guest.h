/*
 * A stage inside the program of another one, which calls its callbacks, gives it its
 * options as words of one text, and names it by its `guests`.  It makes frames of frames:
 * begin, frame and what comes before, nothing else of the table; its class is "any".
 */
#ifndef BRAGG_STAGE_GUEST_H
#define BRAGG_STAGE_GUEST_H

#include <stdint.h>

#include "stage/stage.h"

struct guest {
    const struct stage *stage;
    void *state;  // owned
    char *text;   // owned: words that options may point to
    char *words;  // owned: the options that decide what frames hold; NULL: too many
    bool opened;
};

/* Takes the stage in with options as on its command line, words parted by blanks with
 * quotes as in base/text.h, `threads` being the default of an option of that name; and
 * opens it.  Followed by guest_close also after an error, which names the stage. */
enum status guest_open(struct guest *g, const struct stage *stage, const char *options,
                       int64_t threads, struct error *e);

/* Its turn for the experiment, and for a frame. */
enum status guest_begin(struct guest *g, struct experiment *x, struct error *e);
enum status guest_frame(struct guest *g, struct frame *f, struct error *e);

/* Closes the stage and frees what *g holds. */
void guest_close(struct guest *g);

#endif
