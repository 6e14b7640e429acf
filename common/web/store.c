#include "web/store.h"

#include <string.h>

#include "base/alloc.h"

/* --- messages ------------------------------------------------------------------ */

_Static_assert(sizeof(struct web_head) == 72 && sizeof(struct web_mark) == 28, "no gaps");

static atomic_size_t message_bytes;

size_t web_blob_bytes(void)
{
    return atomic_load(&message_bytes);
}

struct web_blob *web_blob_new(size_t size)
{
    struct web_blob *b = mem_array(1, sizeof *b + size);
    (void)atomic_fetch_add(&message_bytes, size);
    b->users = 1;
    b->size = size;
    return b;
}

struct web_blob *web_blob_text(const char *text)
{
    struct web_blob *b = web_blob_new(strlen(text));
    b->text = true;
    memcpy(b->data, text, b->size);
    return b;
}

void web_blob_drop(struct web_blob *b)
{
    if (!b || atomic_fetch_sub(&b->users, 1) != 1)
        return;
    (void)atomic_fetch_sub(&message_bytes, b->size);
    mem_free(b);
}

/* --- frames -------------------------------------------------------------------- */

static size_t bytes_of(const struct web_frame *f)
{
    return f->image.count * pixel_size(f->image.type) + f->nmarks * sizeof *f->marks;
}

static void free_frame(struct web_frame *f)
{
    if (!f)
        return;
    image_free(&f->image);
    mem_free(f->marks);
    mem_free(f);
}

void web_store_open(struct web_store *s, size_t bytes_max)
{
    *s = (struct web_store){.bytes_max = bytes_max};
    (void)pthread_mutex_init(&s->lock, NULL);
}

/* Ends the use of a frame.  If it was the last use, the frame becomes the spare frame, whose
 * memory is used again. */
static void drop_frame(struct web_store *s, struct web_frame *f)
{
    if (--f->users > 0)
        return;
    free_frame(s->spare);
    s->spare = f;
}

static void evict(struct web_store *s)
{
    struct web_frame *f = s->frames[s->first];
    s->frames[s->first] = NULL;
    s->first = (s->first + 1) % WEB_FRAMES_MAX;
    s->count--;
    s->bytes -= bytes_of(f);
    drop_frame(s, f);
}

void web_store_close(struct web_store *s)
{
    while (s->count)
        evict(s);
    free_frame(s->spare);
    s->spare = NULL;
    (void)pthread_mutex_destroy(&s->lock);
}

/* Returns the spare frame without its marks if its image has this type and size.  Otherwise frees
 * it and returns NULL. */
static struct web_frame *recycle(struct web_store *s, enum pixel_type type, enum pixel_unit unit,
                                 size_t count)
{
    struct web_frame *f = s->spare;
    s->spare = NULL;
    if (!f || f->image.type != type || f->image.count != count) {
        free_frame(f);
        return NULL;
    }
    const struct image image = f->image;
    mem_free(f->marks);
    *f = (struct web_frame){.image = image, .users = 1};
    f->image.unit = unit;
    return f;
}

struct web_frame *web_store_new(struct web_store *s, enum pixel_type type, enum pixel_unit unit,
                                size_t count)
{
    const size_t bytes = count * pixel_size(type);
    (void)pthread_mutex_lock(&s->lock);
    while (s->count && (s->count == WEB_FRAMES_MAX || s->bytes + bytes > s->bytes_max))
        evict(s);
    struct web_frame *f = recycle(s, type, unit, count);
    (void)pthread_mutex_unlock(&s->lock);
    if (f)
        return f;
    f = mem_array(1, sizeof *f);
    image_allocate(&f->image, type, unit, count);
    f->users = 1;
    return f;
}

void web_store_put(struct web_store *s, struct web_frame *f)
{
    (void)pthread_mutex_lock(&s->lock);
    f->number = ++s->number;
    s->frames[(s->first + s->count++) % WEB_FRAMES_MAX] = f;
    s->bytes += bytes_of(f);
    (void)pthread_mutex_unlock(&s->lock);
}

struct web_frame *web_store_use(struct web_store *s, uint64_t number)
{
    struct web_frame *f = NULL;
    (void)pthread_mutex_lock(&s->lock);
    const uint64_t wanted = number ? number : s->number, oldest = s->number - s->count + 1;
    if (s->count && wanted >= oldest && wanted <= s->number) {
        f = s->frames[(s->first + (size_t)(wanted - oldest)) % WEB_FRAMES_MAX];
        f->users++;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return f;
}

void web_store_drop(struct web_store *s, struct web_frame *f)
{
    (void)pthread_mutex_lock(&s->lock);
    drop_frame(s, f);
    (void)pthread_mutex_unlock(&s->lock);
}

struct web_span web_store_span(struct web_store *s)
{
    struct web_span span = {0};
    (void)pthread_mutex_lock(&s->lock);
    if (s->count) {
        const struct web_frame *f = s->frames[(s->first + s->count - 1) % WEB_FRAMES_MAX];
        span = (struct web_span){.oldest = s->number - s->count + 1,
                                 .newest = s->number,
                                 .id = f->id,
                                 .came = f->came,
                                 .hits = f->hits,
                                 .time_s = f->time_s,
                                 .brightness = f->brightness};
    }
    (void)pthread_mutex_unlock(&s->lock);
    return span;
}
