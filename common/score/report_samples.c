#include "score/report_samples.h"

#include <string.h>

#include "base/alloc.h"
#include "score/statistics.h"

void shown_add(struct shown_pairs *p, double x, double y)
{
    const size_t at = sample_place(p->n++, SHOWN_PAIRS);
    if (at >= SHOWN_PAIRS)
        return;
    p->pair[at][0] = x;
    p->pair[at][1] = y;
}

static bool is_missed(const struct shown_judged *j, size_t row)
{
    return !j->taken[row] && score_is_strong(j->settings, &j->frame->rows[row]);
}

static void put_mark(struct shown_frame *f, enum shown_kind kind, int32_t panel, double fast,
                     double slow)
{
    if (f->nmarks < SHOWN_MARKS)
        f->marks[f->nmarks++] = (struct shown_mark){kind, panel, fast, slow};
}

/* Marks the spots of a frame.  Faults come first, so that they remain if there are too many marks.
 */
static void mark_spots(struct shown_frame *f, const struct shown_judged *j)
{
    const struct answer *a = j->answer;
    f->marks = mem_array(SHOWN_MARKS, sizeof *f->marks);
    for (size_t i = 0; i < j->frame->nrows; i++) {
        const struct reflection_row *r = &j->frame->rows[i];
        if (is_missed(j, i))
            put_mark(f, SHOWN_MISSED, r->panel, r->fast, r->slow);
    }
    for (int right = 0; right < 2; right++)
        for (size_t i = 0; i < a->nspots; i++) {
            const struct answer_spot *x = &a->spots[i];
            if (right == (j->partner[i] >= 0))
                put_mark(f, right ? SHOWN_RIGHT : SHOWN_WRONG, j->panel_of[x->panel], x->fast,
                         x->slow);
        }
}

void shown_judge(struct shown_samples *s, const struct shown_judged *j)
{
    struct shown_frame f = {.number = j->frame->frame->number,
                            .path = j->frame->path,
                            .lattices_missed = j->lattices_missed};
    for (size_t i = 0; i < j->frame->nrows; i++)
        f.missed += is_missed(j, i);
    for (size_t i = 0; i < j->answer->nspots; i++)
        f.wrong += j->partner[i] < 0;
    f.faults = f.missed + f.wrong + j->lattices_missed * j->lattice_faults;
    size_t at = s->nframes;
    while (at && s->frames[at - 1].faults < f.faults)
        at--;
    if (!f.faults || at == SHOWN_FRAMES)
        return;
    mark_spots(&f, j);
    if (s->nframes == SHOWN_FRAMES)
        mem_free(s->frames[--s->nframes].marks);
    memmove(s->frames + at + 1, s->frames + at, (s->nframes++ - at) * sizeof *s->frames);
    s->frames[at] = f;
}

void shown_free(struct shown_samples *s)
{
    for (size_t i = 0; i < s->nframes; i++)
        mem_free(s->frames[i].marks);
    s->nframes = 0;
}
