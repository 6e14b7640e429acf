#include "frame_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { SAMPLES = 100003, PICTURE_EDGE = 480, FIRST = 0, BRIGHTEST = 1, OTHERS = 2 };

double frame_mean(const struct image *image)
{
    const size_t step = 1 + image->count / SAMPLES;
    double sum = 0.0;
    size_t n = 0;
    for (size_t i = step / 2; i < image->count; i += step) {
        const double value = image_value(image, i);
        sum += isfinite(value) ? value : 0.0;
        n++;
    }
    return n ? sum / (double)n : 0.0;
}

void frame_facts_open(struct frame_facts *k, const struct experiment *x, int pictures)
{
    *k = (struct frame_facts){.x = x, .wanted = pictures, .bin_s = 0.05};
}

void frame_facts_free(struct frame_facts *k)
{
    for (int i = 0; i < k->npictures; i++)
        free(k->pictures[i].png);
    preview_free(&k->preview);
    *k = (struct frame_facts){0};
}

/* ---- numbers -------------------------------------------------------------------------- */

static int bin_of(double value)
{
    const double bin = FACTS_PER_DECADE * log10(value / FACTS_LEAST);
    return bin > 0.0 ? (int)fmin(bin, FACTS_BINS - 1) : 0;
}

static void count(struct facts_histogram *h, double value, bool hit)
{
    (hit ? h->hits : h->blanks)[bin_of(value)]++;
}

/* Twice as long bins, half as many. */
static void fold(uint64_t bins[FACTS_TIMES])
{
    for (int i = 0; i < FACTS_TIMES / 2; i++)
        bins[i] = bins[2 * i] + bins[2 * i + 1];
    memset(bins + FACTS_TIMES / 2, 0, FACTS_TIMES / 2 * sizeof *bins);
}

void frame_facts_fold(struct frame_facts *k)
{
    fold(k->came);
    fold(k->came_hits);
    k->bin_s *= 2;
}

static void note_time(struct frame_facts *k, double time_s, bool hit)
{
    while (time_s >= k->bin_s * FACTS_TIMES)
        frame_facts_fold(k);
    const int bin = (int)(fmax(time_s, 0.0) / k->bin_s);
    k->came[bin]++;
    k->came_hits[bin] += hit;
    k->last_s = time_s;
}

/* ---- pictures ------------------------------------------------------------------------- */

static enum status draw(struct frame_facts *k, const struct frame *f, struct facts_picture *p,
                        struct error *e)
{
    const struct preview_settings settings = {.colors = COLORS_INVERTED};
    const struct picture_settings look = {.edge_max = PICTURE_EDGE, .saturation = k->x->saturation};
    FILE *out = open_memstream(&p->png, &p->size);
    if (!out)
        return error_memory(e, "a picture");
    const enum status s =
        preview_write(&k->preview, &settings, &look, k->x, f, out, "a picture", e);
    if (fclose(out) == 0 && s == STATUS_OK)
        return STATUS_OK;
    free(p->png);
    return s ? s : error_memory(e, "a picture");
}

/* Puts a picture into the place of what is there, or behind all. */
static void put(struct frame_facts *k, int place, struct facts_picture p)
{
    if (place < k->npictures)
        free(k->pictures[place].png);
    else
        k->npictures = place + 1;
    k->pictures[place] = p;
}

/* Where one of the others goes; `wanted`: nowhere.  Those whose numbers hash to the least are kept:
 * any frame is as likely as another, and the same run shows the same ones. */
static int place_of_other(const struct frame_facts *k, uint64_t rank)
{
    int worst = OTHERS;
    if (k->npictures < k->wanted)
        return k->npictures;
    for (int i = OTHERS; i < k->npictures; i++)
        if (k->pictures[i].rank > k->pictures[worst].rank)
            worst = i;
    return worst < k->wanted && k->pictures[worst].rank > rank ? worst : k->wanted;
}

/* The former brightest is one of the others from now on. */
static void keep_former_brightest(struct frame_facts *k)
{
    struct facts_picture former = k->pictures[BRIGHTEST];
    const int place = place_of_other(k, former.rank);
    if (place == k->wanted)
        return;
    k->pictures[BRIGHTEST].png = NULL;
    put(k, place, former);
}

/* Where a picture of this frame goes; `wanted`: nowhere. */
static int place_of(const struct frame_facts *k, const struct facts_picture *p)
{
    if (k->npictures <= BRIGHTEST)
        return k->npictures;
    return p->mean > k->pictures[BRIGHTEST].mean ? BRIGHTEST : place_of_other(k, p->rank);
}

enum status frame_facts_take(struct frame_facts *k, const struct frame *f, double time_s,
                             struct error *e)
{
    const bool hit = f->recipe.nlattices > 0;
    struct facts_picture p = {.id = f->recipe.id,
                              .rank = hash_finish(f->recipe.id + 1),
                              .lattices = f->recipe.nlattices,
                              .mean = frame_mean(&f->image),
                              .most = image_range(&f->image).most};
    const int place = place_of(k, &p);
    const enum status s = place < k->wanted ? draw(k, f, &p, e) : STATUS_OK;
    if (s)
        return s;
    if (!image_is_intact(&f->image)) {
        free(p.png);
        k->torn++;
        return STATUS_OK;
    }
    k->frames++;
    k->hits += hit;
    k->saturated += k->x->saturation > 0.0 && p.most >= k->x->saturation;
    k->mean_sum += p.mean;
    k->brightest = k->frames == 1 ? p.most : fmax(k->brightest, p.most);
    count(&k->means, p.mean, hit);
    count(&k->peaks, p.most, hit);
    note_time(k, time_s, hit);
    if (place == BRIGHTEST && k->npictures > BRIGHTEST)
        keep_former_brightest(k);
    if (place < k->wanted)
        put(k, place, p);
    return STATUS_OK;
}
