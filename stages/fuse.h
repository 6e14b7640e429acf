/* Stages after an engine, in its program: --fuse 'background ...' --fuse 'noise ...'. */
#ifndef BRAGG_STAGES_FUSE_H
#define BRAGG_STAGES_FUSE_H

#include "base/opt.h"
#include "stage/guest.h"

enum { FUSE_MAX = 2 };

/* Memory of images that stay in the program: two take turns. */
struct fuse_memory {
    struct image_memory take;
    struct fuse_buffer {
        void *bytes;  // owned
        size_t size;
        bool used;
    } buffer[2];
};

struct fuse {
    size_t n;
    struct guest guest[FUSE_MAX];
    struct fuse_memory memory;
};

/* Opens the stages of these texts: a name, then options.  `threads`: the default of theirs.
 * STATUS_USAGE for what is unknown or cannot follow what is before.  Followed by fuse_close
 * also after an error; *f is zeroed before. */
enum status fuse_open(struct fuse *f, const struct opt_texts *texts, int64_t threads,
                      struct error *e);

/* Their turn for the experiment. */
enum status fuse_begin(struct fuse *f, struct experiment *x, struct error *e);

/* Where an image that they will take further gets its memory; `last` for what leaves. */
struct image_memory *fuse_memory(struct fuse *f, struct image_memory *last);

/* A frame goes through all of them; the last one's image lies in memory of `last`. */
enum status fuse_frame(struct fuse *f, struct frame *frame, struct image_memory *last,
                       struct error *e);

void fuse_close(struct fuse *f);

#endif
