#include "io/structure_factors/molecule.h"

#include <math.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include <zlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "io/structure_factors/molecule_reader.h"
#include "io/text/filetype.h"

/* Of occupancies of one place, in all models of an ensemble. */
static const double FULL = 1.02;

/* --- kinds of files ---------------------------------------------------------------- */

static bool ends_in(const char *path, const char *suffix)
{
    const size_t n = strlen(path), k = strlen(suffix);
    return n >= k && strcasecmp(path + n - k, suffix) == 0;
}

/* Whether a text, perhaps compressed, is CIF: its first word is data_. */
static enum status find_kind(struct molecule_reader *r, struct error *e)
{
    char line[256] = "";
    struct stat st;
    if (stat(r->path, &st) == 0 && !S_ISREG(st.st_mode))
        return error_set(e, STATUS_FAILED, "%s: must be an ordinary file", r->path);
    FILE *in = fopen(r->path, "rbe");
    if (!in)
        return error_errno(e, STATUS_FAILED, "%s: cannot open", r->path);
    const enum filetype type = filetype_of_file(in);
    (void)fclose(in);
    if (type == FILETYPE_GZIP && !ends_in(r->path, ".gz"))
        return molecule_refuse(r, e, "the file is compressed; expected a name that ends in .gz");
    if (type != FILETYPE_GZIP && ends_in(r->path, ".gz"))
        return molecule_refuse(r, e, "the file is not compressed, but its name ends in .gz");
    const enum status s =
        type == FILETYPE_GZIP ? STATUS_OK : filetype_check(r->path, type, FILETYPE_MODEL, e);
    gzFile z = s ? NULL : gzopen(r->path, "rbe");
    if (!s && !z)
        return error_errno(e, STATUS_FAILED, "%s: cannot open", r->path);
    bool first = false;
    while (z && !first && gzgets(z, line, sizeof line)) {
        const char *at = line + (memcmp(line, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
        at += strspn(at, " \t\r\n");
        first = *at && *at != '#';
        r->cif = first && (strncasecmp(at, "data_", 5) == 0 || strncasecmp(at, "global_", 7) == 0);
    }
    if (z)
        (void)gzclose(z);
    return s;
}

/* What is wrong with all atoms together. */
static enum status check_atoms(const struct molecule_reader *r, struct error *e)
{
    const struct molecule *m = r->m;
    size_t hydrogens = 0, apart = 0;
    double occupied = 0.0;
    for (const struct molecule_atom *a = m->atoms; a < m->atoms + m->count; a++) {
        hydrogens += strcasecmp(a->symbol, "H") == 0 || strcasecmp(a->symbol, "D") == 0;
        occupied += a->occupancy;
        apart += memcmp(a->at, m->atoms[0].at, sizeof a->at) != 0;
    }
    if (!m->count)
        return molecule_refuse(r, e, "the file holds no atoms");
    if (!(occupied > 0.0))
        return molecule_refuse(r, e,
                               "the occupancies of all atoms are 0, so that nothing scatters");
    if (m->count > 2 && !apart)
        return molecule_refuse(r, e, "all atoms are at one place");
    if (r->models > 1 && r->occupied > FULL)
        return error_set(
            e, STATUS_INPUT,
            "%s: the occupancies of its %zu models add up to %.3g; expected at most 1. "
            "Give each atom of an ensemble the occupancy %.3g, or keep one model",
            r->path, r->models, r->occupied, 1.0 / (double)r->models);
    if (hydrogens == m->count)
        log_line(LOG_WARNING, "%s: all its atoms are hydrogen: is it the whole model?", r->path);
    if (r->no_B)
        log_line(LOG_WARNING, "%s: %zu of %zu atoms have no B factor: B = 0 is used", r->path,
                 r->no_B, m->count);
    if (r->no_occupancy)
        log_line(LOG_WARNING, "%s: %zu of %zu atoms have no occupancy: 1 is used", r->path,
                 r->no_occupancy, m->count);
    return STATUS_OK;
}

/* --- all ------------------------------------------------------------------------------ */

enum status molecule_read(const char *path, struct molecule *m, struct error *e)
{
    static const char *const tags[] = {"_atom_site_label",          "_atom_site_type_symbol",
                                       "_atom_site_fract_x",        "_atom_site_fract_y",
                                       "_atom_site_fract_z",        "_atom_site_occupancy",
                                       "_atom_site_U_iso_or_equiv", "_atom_site_B_iso_or_equiv",
                                       "_atom_site_calc_flag",      NULL};
    struct molecule_reader r = {.path = path, .m = m};
    struct gemmi_table sites = {0};
    *m = (struct molecule){0};
    enum status s = find_kind(&r, e);
    if (!s && r.cif)
        s = molecule_read_tags(&r, tags, path, -1, &sites, e);
    if (!s)
        s = sites.rows ? small_molecule_read(&r, &sites, e) : macromolecule_read(&r, e);
    gemmi_table_free(&sites);
    return s ? s : check_atoms(&r, e);
}

void molecule_free(struct molecule *m)
{
    mem_free(m->atoms);
    m->atoms = NULL;
    m->count = m->room = 0;
}
