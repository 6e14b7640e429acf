#include "io/output/truth.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "base/vec.h"
#include "model/beam.h"

/* Behind all else: names of the numbers of the pulse, or their values. */
static void write_pulse(FILE *out, const struct experiment *x, const struct recipe *r)
{
    struct pulse_number list[PULSE_NUMBERS_MAX];
    const size_t n = pulse_numbers(&x->pulse_ids, r ? r->id : 0, list);
    for (size_t i = 0; i < n; i++) {
        if (r)
            fprintf(out, "\t%" PRIu64, list[i].value);
        else
            fprintf(out, "\t%s", list[i].name);
    }
    fputc('\n', out);
}

/* In the frame of the beam. */
static void write_shift(FILE *out, const struct recipe *r, const double frame[9])
{
    double by_m[3];
    mat_apply(frame, r->shift_m, by_m);
    for (int i = 0; i < 3; i++)
        fprintf(out, "\t%.9g", m_to_mm(by_m[i]));
}

void truth_write_title(FILE *out, const struct experiment *x, const char *more)
{
    fputs("frame\tlattices\tfluence\twavelength_A\tlattice\tcrystal\tname\tshare"
          "\tu11\tu12\tu13\tu21\tu22\tu23\tu31\tu32\tu33"
          "\tas_x\tas_y\tas_z\tbs_x\tbs_y\tbs_z\tcs_x\tcs_y\tcs_z"
          "\tastar_x\tastar_y\tastar_z\tbstar_x\tbstar_y\tbstar_z\tcstar_x\tcstar_y\tcstar_z"
          "\tpanel_deg",
          out);
    if (x->detector_moves)
        fputs("\tshift_x_mm\tshift_y_mm\tcoffset_mm", out);
    if (x->beam.harmonic_share > 0)
        fputs("\tthird_harmonic", out);
    fputs(more, out);
    write_pulse(out, x, NULL);
}

static void write_reals(FILE *out, const double *values, int count)
{
    for (int i = 0; i < count; i++)
        fprintf(out, "\t%.17g", values[i]);
}

/* `frame`: rows x, y, z of that of the beam. */
static void write_lattice(FILE *out, const struct experiment *x, const struct recipe *r, size_t i,
                          const double frame[9])
{
    const struct lattice *l = &r->lattices[i];
    const char *name = l->crystal < x->ncrystals ? x->crystals[l->crystal].name : "";
    fprintf(out, "\t%zu\t%" PRIu32 "\t%s\t%.17g", i, l->crystal, *name ? name : "-", l->weight);
    write_reals(out, l->rotation, 9);
    write_reals(out, l->reciprocal_A, 9);
    for (int axis = 0; axis < 3; axis++) {
        double turned[3], beam[3];
        memcpy(turned, l->reciprocal_A + 3 * axis, sizeof turned);
        vec_rotate_axis(turned, x->spindle, r->phi_rad + 0.5 * r->osc_rad);
        mat_apply(frame, turned, beam);
        write_reals(out, beam, 3);
    }
}

void truth_direction(const struct experiment *x, const struct recipe *r, const double frame[9],
                     double xy_rad[2])
{
    const struct source *sources = r->nsources ? r->sources : x->beam.sources;
    const size_t count = r->nsources ? r->nsources : x->beam.nsources;
    double sum[3] = {0}, to[3];
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < 3; k++)
            sum[k] -= sources[i].weight * sources[i].direction[k];
    mat_apply(frame, sum, to);
    for (int k = 0; k < 2; k++)
        xy_rad[k] = atan2(to[k], to[2]);
}

void truth_write(FILE *out, const struct experiment *x, const struct recipe *r,
                 const double frame[9], const char *more)
{
    enum { BLANK_ITEMS = 4 + 9 + 9 + 9 };
    const struct incident beam = incident_beam(x, r);
    double fast[3];
    mat_apply(frame, x->panels->fast, fast);
    for (size_t i = 0; i == 0 || i < r->nlattices; i++) {
        fprintf(out, "%" PRIu64 "\t%zu\t%.17g\t%.17g", r->id, r->nlattices, beam.share,
                m_to_angstrom(beam.mean_m));
        if (r->nlattices)
            write_lattice(out, x, r, i, frame);
        for (int k = 0; k < BLANK_ITEMS && !r->nlattices; k++)
            fputs("\t-", out);
        fprintf(out, "\t%.9g", rad_to_deg(atan2(fast[1], fast[0])));
        if (x->detector_moves)
            write_shift(out, r, frame);
        if (x->beam.harmonic_share > 0)
            write_reals(out, &x->beam.harmonic_share, 1);
        fputs(more, out);
        write_pulse(out, x, r);
    }
}
