/* Reflection tables of DIALS, which are MessagePack: an array of a name, a version, and a map
 * with the columns, as they lie in memory. */
#include <inttypes.h>
#include <string.h>

#include "io/dials/dials.h"

struct table {
    FILE *out;
    int32_t shift;  // of the images of frames: DIALS begins with 0 at the image that it calls 1
    const struct experiment *x;
    bool alone;  // without scaled intensities
    uint64_t rows;
    const struct dials_column *column;  // the one that is written
};

/* ---- MessagePack -------------------------------------------------------- */

static void put_size(FILE *out, uint8_t type, uint32_t size)
{
    const uint8_t bytes[] = {type, (uint8_t)(size >> 24), (uint8_t)(size >> 16),
                             (uint8_t)(size >> 8), (uint8_t)size};
    (void)fwrite(bytes, 1, sizeof bytes, out);
}

static void put_array(FILE *out, uint32_t count)
{
    put_size(out, 0xdd, count);
}

static void put_map(FILE *out, uint32_t count)
{
    put_size(out, 0xdf, count);
}

static void put_whole(FILE *out, uint32_t value)
{
    put_size(out, 0xce, value);
}

static void put_text(FILE *out, const char *text)
{
    put_size(out, 0xdb, (uint32_t)strlen(text));
    fputs(text, out);
}

/* ---- the table ------------------------------------------------------------ */

static void count_spot(void *state, const struct dials_spot *s)
{
    (void)s;
    ((struct table *)state)->rows++;
}

static void write_spot(void *state, const struct dials_spot *s)
{
    const struct table *t = state;
    struct dials_spot moved = *s;
    moved.scaled = !t->alone && !s->cut;
    char item[DIALS_WIDTH_MAX];
    if (s->osc_rad != 0.0) {
        moved.image += t->shift;
        moved.box[4] += t->shift;
        moved.box[5] += t->shift;
    }
    t->column->put(t->x, &moved, item);
    (void)fwrite(item, 1, t->column->width, t->out);
}

static enum status write_column(struct table *t, const struct dials_column *c,
                                const struct records *all, struct error *e)
{
    const struct dials_visitor rows = {.state = t, .spot = write_spot};
    t->column = c;
    put_text(t->out, c->name);
    put_array(t->out, 2);
    put_text(t->out, c->type);
    put_array(t->out, 2);
    put_whole(t->out, (uint32_t)t->rows);
    put_size(t->out, 0xc6, (uint32_t)t->rows * c->width);
    return dials_walk(all, &rows, e);
}

static uint32_t count_columns(bool alone)
{
    uint32_t count = 0;
    for (const struct dials_column *c = dials_columns; c->name; c++)
        count += !alone || !c->scaled;
    return count;
}

static void count_names(void *state, const struct dials_sweep *s)
{
    *(uint64_t *)state += s->start->nlattices;
}

static void write_names(void *state, const struct dials_sweep *s)
{
    const struct table *t = state;
    for (uint64_t i = 0; i < s->start->nlattices; i++) {
        char name[DIALS_NAME_SIZE];
        dials_identifier(t->x, s, i, name);
        put_whole(t->out, (uint32_t)(s->experiment + i));
        put_text(t->out, name);
    }
}

static enum status write_identifiers(struct table *t, const struct records *all, struct error *e)
{
    uint64_t count = 0;
    const struct dials_visitor counter = {.state = &count, .sweep = count_names};
    const struct dials_visitor names = {.state = t, .sweep = write_names};
    const enum status s = dials_walk(all, &counter, e);
    put_text(t->out, "identifiers");
    put_map(t->out, (uint32_t)count);
    return s ? s : dials_walk(all, &names, e);
}

enum status dials_write_refl(FILE *out, const struct experiment *x, struct dials_images images,
                             const struct records *all, const char *path, struct error *e)
{
    enum status s = dials_choose_images(&images, all, e);
    struct table t = {
        .out = out, .x = x, .shift = dials_first_image(images) - 1, .alone = images.alone};
    const struct dials_visitor counter = {.state = &t, .spot = count_spot};
    s = s ? s : dials_walk(all, &counter, e);
    if (s == STATUS_OK && t.rows > UINT32_MAX / DIALS_WIDTH_MAX)
        s = error_set(e, STATUS_FAILED, "%s: has %" PRIu64 " reflections, a table holds %" PRIu32,
                      path, t.rows, UINT32_MAX / DIALS_WIDTH_MAX);
    if (s)
        return s;
    put_array(out, 3);
    put_text(out, "dials::af::reflection_table");
    put_whole(out, 1);
    put_map(out, 3);
    s = write_identifiers(&t, all, e);
    put_text(out, "nrows");
    put_whole(out, (uint32_t)t.rows);
    put_text(out, "data");
    put_map(out, count_columns(t.alone));
    for (const struct dials_column *c = dials_columns; c->name && !s; c++)
        if (!t.alone || !c->scaled)
            s = write_column(&t, c, all, e);
    if (s == STATUS_OK && ferror(out))
        s = error_errno(e, STATUS_FAILED, "%s: cannot write", path);
    return s;
}
