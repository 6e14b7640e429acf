#include "io/output/reflections_text.h"

#include <inttypes.h>

static void write_row(FILE *out, uint64_t frame, const struct reflection_row *r)
{
    fprintf(out, "%" PRIu64 "\t%" PRId32 "\t%" PRId32 "\t%" PRId32 "\t%" PRId32 "\t%" PRId32, frame,
            r->lattice, r->hkl[0], r->hkl[1], r->hkl[2], r->panel);
    fprintf(out, "\t%.6f\t%.6f\t%.9g\t%.7g\t%" PRId32, r->fast, r->slow, r->photons,
            (double)r->peak, r->pixels);
    fprintf(out, "\t%.9g\t%.9g\t%.7g\t%.7g\n", r->phi_deg, r->s_1_A, (double)r->F2,
            (double)r->background);
}

enum status reflections_check(const struct frame *f, const char *path, struct error *e)
{
    return f->reflections.present
               ? STATUS_OK
               : error_set(e, STATUS_INPUT,
                           "%s: frame %" PRIu64 " brings no reflections along: bragg-intensity "
                           "--reflections makes them",
                           path, f->recipe.id);
}

void reflections_write_names(FILE *out)
{
    fputs("frame\tlattice\th\tk\tl\tpanel\tfast\tslow\tphotons\tpeak\tpixels\tphi\ts\tF2\t"
          "background\n",
          out);
}

void reflections_write_rows(FILE *out, const struct frame *f)
{
    for (size_t i = 0; i < f->reflections.count; i++)
        write_row(out, f->recipe.id, &f->reflections.rows[i]);
}
