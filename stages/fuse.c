#include "fuse.h"

#include <string.h>

#include "background.h"
#include "base/alloc.h"
#include "noise.h"

/* In the order in which they may follow one another, each once. */
static const struct {
    const char *name;
    const struct stage *stage;
} KNOWN[FUSE_MAX] = {{"background", &stage_background}, {"noise", &stage_noise}};

/* The place in KNOWN of the stage that a text begins with; FUSE_MAX for an unknown one. */
static size_t find(const char *text)
{
    const size_t length = strcspn(text, " ");
    size_t i = 0;
    while (i < FUSE_MAX &&
           (strlen(KNOWN[i].name) != length || strncmp(text, KNOWN[i].name, length) != 0))
        i++;
    return i;
}

enum status fuse_open(struct fuse *f, const struct opt_texts *texts, int64_t threads,
                      struct error *e)
{
    enum status s = STATUS_OK;
    size_t next = 0;
    for (size_t i = 0; i < texts->count && !s; i++) {
        const char *text = texts->text[i], *options = text + strcspn(text, " ");
        const size_t index = find(text);
        if (index == FUSE_MAX)
            return error_set(e, STATUS_USAGE,
                             "--fuse: '%.60s' does not begin with background or noise", text);
        if (index < next)
            return error_set(e, STATUS_USAGE,
                             "--fuse: background and noise come in this order, each once");
        next = index + 1;
        s = guest_open(&f->guest[f->n++], KNOWN[index].stage, options + (*options == ' '), threads,
                       e);
    }
    return s;
}

enum status fuse_begin(struct fuse *f, struct experiment *x, struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < f->n && !s; i++)
        s = guest_begin(&f->guest[i], x, e);
    return s;
}

/* ---- images ----------------------------------------------------------------------- */

static void give_back(void *owner)
{
    struct fuse_buffer *b = owner;
    b->used = false;
}

/* One of the buffers, which grows to what is asked for; false: the heap does. */
static bool take(struct image_memory *memory, size_t bytes, struct image *image)
{
    struct fuse_memory *m = (struct fuse_memory *)memory;  // its first member
    struct fuse_buffer *b = m->buffer[0].used ? &m->buffer[1] : &m->buffer[0];
    if (b->used)
        return false;
    if (b->size < bytes) {
        mem_free(b->bytes);
        b->bytes = mem_array(bytes, 1);
        b->size = b->bytes ? bytes : 0;
    }
    if (!b->bytes)
        return false;
    b->used = true;
    image->pixels = b->bytes;
    image->owner = b;
    image->release = give_back;
    return true;
}

struct image_memory *fuse_memory(struct fuse *f, struct image_memory *last)
{
    f->memory.take.take = take;
    return f->n ? &f->memory.take : last;
}

enum status fuse_frame(struct fuse *f, struct frame *frame, struct image_memory *last,
                       struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < f->n && !s; i++) {
        frame->image.memory = i + 1 < f->n ? &f->memory.take : last;
        s = guest_frame(&f->guest[i], frame, e);
    }
    frame->image.memory = last;
    return s;
}

void fuse_close(struct fuse *f)
{
    for (size_t i = 0; i < f->n; i++)
        guest_close(&f->guest[i]);
    for (size_t i = 0; i < 2; i++)
        mem_free(f->memory.buffer[i].bytes);
    *f = (struct fuse){0};
}
