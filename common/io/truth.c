#include "io/truth.h"

#include <inttypes.h>

#include "base/units.h"

static double total_weight(const struct recipe *r)
{
    double total = 0.0;
    for (size_t i = 0; i < r->nsources; i++)
        total += r->sources[i].weight;
    return total;
}

double truth_fluence(const struct recipe *r)
{
    return r->nsources ? total_weight(r) / (double)r->nsources : 1.0;
}

double truth_wavelength_m(const struct experiment *x, const struct recipe *r)
{
    const double total = total_weight(r);
    if (!(total > 0.0))
        return x->beam.wavelength_m;
    double sum = 0.0;
    for (size_t i = 0; i < r->nsources; i++)
        sum += r->sources[i].weight * r->sources[i].wavelength_m;
    return sum / total;
}

struct truth_spectrum truth_spectrum(const struct experiment *x, const struct recipe *r)
{
    const struct source *sources = r->nsources ? r->sources : x->beam.sources;
    const double mean_m = truth_wavelength_m(x, r);
    struct truth_spectrum t = {r->nsources ? r->nsources : x->beam.nsources, mean_m, mean_m,
                               mean_m};
    for (size_t i = 0; i < t.sources; i++) {
        const double wavelength_m = sources[i].wavelength_m;
        t.shortest_m = !i || wavelength_m < t.shortest_m ? wavelength_m : t.shortest_m;
        t.longest_m = !i || wavelength_m > t.longest_m ? wavelength_m : t.longest_m;
    }
    return t;
}

void truth_write_title(FILE *out)
{
    fputs("frame\tlattices\tfluence\twavelength_A\tlattice\tcrystal\tname\tshare"
          "\tu11\tu12\tu13\tu21\tu22\tu23\tu31\tu32\tu33"
          "\tas_x\tas_y\tas_z\tbs_x\tbs_y\tbs_z\tcs_x\tcs_y\tcs_z\n",
          out);
}

static void write_reals(FILE *out, const double *values, int count)
{
    for (int i = 0; i < count; i++)
        fprintf(out, "\t%.17g", values[i]);
}

static void write_lattice(FILE *out, const struct experiment *x, const struct recipe *r, size_t i)
{
    const struct lattice *l = &r->lattices[i];
    const char *name = l->crystal < x->ncrystals ? x->crystals[l->crystal].name : "";
    fprintf(out, "\t%zu\t%" PRIu32 "\t%s\t%.17g", i, l->crystal, *name ? name : "-", l->weight);
    write_reals(out, l->rotation, 9);
    write_reals(out, l->reciprocal_A, 9);
}

void truth_write(FILE *out, const struct experiment *x, const struct recipe *r)
{
    enum { BLANK_ITEMS = 4 + 9 + 9 };
    for (size_t i = 0; i == 0 || i < r->nlattices; i++) {
        fprintf(out, "%" PRIu64 "\t%zu\t%.17g\t%.17g", r->id, r->nlattices, truth_fluence(r),
                m_to_angstrom(truth_wavelength_m(x, r)));
        if (r->nlattices)
            write_lattice(out, x, r, i);
        for (int k = 0; k < BLANK_ITEMS && !r->nlattices; k++)
            fputs("\t-", out);
        fputc('\n', out);
    }
}
