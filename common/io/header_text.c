#include "io/header_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/units.h"

void header_append(struct header_text *h, const char *format, ...)
{
    size_t room = sizeof h->text - h->length;
    va_list list;
    va_start(list, format);
    int n = vsnprintf(h->text + h->length, room, format, list);
    va_end(list);
    if (n > 0)
        h->length += (size_t)n < room ? (size_t)n : room - 1;
}

static void append_key(struct header_text *h, const struct header_style *style, const char *key)
{
    header_append(h, "%s%s%s", style->before, key, style->between);
}

static void append_whole(struct header_text *h, const struct header_style *style, const char *key,
                         uint64_t value)
{
    append_key(h, style, key);
    header_append(h, "%" PRIu64 "%s", value, style->behind);
}

static void append_list(struct header_text *h, const struct header_style *style, const char *key,
                        const double *values, int count)
{
    append_key(h, style, key);
    for (int i = 0; i < count; i++)
        header_append(h, i ? " %.9g" : "%.9g", values[i]);
    header_append(h, "%s", style->behind);
}

/* A name without what would end a key or the header. */
static void append_name(struct header_text *h, const struct header_style *style, const char *key,
                        const char *name)
{
    char clean[64] = {0};
    for (size_t i = 0; i < sizeof clean - 1 && name[i]; i++)
        clean[i] = isalnum((unsigned char)name[i]) ? name[i] : '_';
    append_key(h, style, key);
    header_append(h, "%s%s", clean, style->behind);
}

void header_append_truth(struct header_text *h, const struct experiment *x, const struct recipe *r,
                         const struct header_style *style)
{
    append_whole(h, style, "BRAGG_FRAME", r->id);
    append_whole(h, style, "BRAGG_SEED", r->seed);
    append_key(h, style, "BRAGG_LINEAGE");
    header_append(h, "%.16s%s", x->lineage, style->behind);
    append_list(h, style, "BRAGG_GAIN", &x->gain, 1);
    append_whole(h, style, "BRAGG_LATTICES", r->nlattices);
    if (r->nlattices == 0)
        return;
    const struct lattice *l = r->lattices;
    if (l->crystal < x->ncrystals) {
        const struct crystal *c = &x->crystals[l->crystal];
        double cell[6];
        for (int i = 0; i < 3; i++) {
            cell[i] = c->cell_A[i];
            cell[3 + i] = rad_to_deg(c->cell_rad[i]);
        }
        append_name(h, style, "BRAGG_CRYSTAL", c->name);
        append_list(h, style, "BRAGG_CELL", cell, 6);
    }
    append_list(h, style, "BRAGG_ROTATION", l->rotation, 9);
    append_list(h, style, "BRAGG_RECIPROCAL", l->reciprocal_A, 9);
}
