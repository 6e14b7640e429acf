/*
 * Several crystals: each --crystal holds KEY=VALUE words, whose keys are the options of
 * a single crystal, parsed by the same table.  What it does not say is as those options
 * say for all.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "geometry_options.h"
#include "io/filetype.h"

enum { WORDS_MAX = 24 };

/* The rows behind --crystal: what can be said of a crystal. */
static const struct opt *crystal_keys(void)
{
    const struct opt *row = geometry_table;
    while (!row->name || strcmp(row->name, "crystal") != 0)
        row++;
    return row + 1;
}

/* Splits `text` at blanks into options "--KEY=VALUE" in `words`. */
static enum status split(const char *text, char *words, size_t size, char **argv, int *argc,
                         struct error *e)
{
    static const char blanks[] = " \t\n";
    while (*(text += strspn(text, blanks))) {
        const size_t length = strcspn(text, blanks);
        if (!memchr(text, '=', length))
            return error_set(e, STATUS_USAGE, "'%.*s' must be KEY=VALUE",
                             (int)(length < 60 ? length : 60), text);
        if (*argc == WORDS_MAX || length + 3 > size)
            return error_set(e, STATUS_USAGE, "the value is too long");
        memcpy(words, "--", 2);
        memcpy(words + 2, text, length);
        words[length + 2] = 0;
        argv[(*argc)++] = words;
        words += length + 3;
        size -= length + 3;
        text += length;
    }
    return *argc > 1 ? STATUS_OK : error_set(e, STATUS_USAGE, "holds no KEY=VALUE");
}

/* Where of two options only one can be, its own stands and the common one yields. */
static void inherit(struct geometry_options *own, const struct geometry_options *common)
{
    if (!own->has_cell && !own->has_matrix) {
        own->has_cell = common->has_cell;
        own->has_matrix = common->has_matrix;
    }
    if (!own->has_hkl && !own->has_mtz && !own->has_model) {
        own->has_hkl = common->has_hkl;
        own->has_model = common->has_model;
        own->has_mtz = common->has_mtz;
        own->has_sites = own->has_sites || common->has_sites;
        own->has_light = own->has_light || common->has_light;
    }
    own->has_spacegroup = own->has_spacegroup || (common->has_spacegroup && own->has_hkl);
    own->has_column = own->has_column || (common->has_column && own->has_mtz);
    own->has_light_occupancy =
        own->has_light_occupancy || (common->has_light_occupancy && own->has_light);
    own->has_fprime = own->has_fprime || (common->has_fprime && (own->has_sites || own->anomalous));
    const bool faithful = own->physics == PHYSICS_FAITHFUL, cells = own->has_ncells;
    own->has_ncells = cells || (common->has_ncells && !(faithful && own->has_crystal_size));
    own->has_crystal_size =
        own->has_crystal_size || (common->has_crystal_size && !(faithful && cells));
    own->has_default_F = own->has_default_F || common->has_default_F;
}

static enum status parse_crystal(const struct geometry_options *common, const char *text,
                                 struct crystal_options *c, struct error *e)
{
    static const struct opt_program program = {
        .name = "bragg-geometry", .summary = "", .partial = true};
    char first[] = "--crystal", *argv[WORDS_MAX + 1] = {first};
    const char *operands[1];
    int argc = 1, noperands;
    struct error cause = {0};
    struct geometry_options *own = &c->options;
    *own = *common;
    own->has_cell = own->has_matrix = own->has_hkl = own->has_mtz = own->has_column = false;
    own->has_spacegroup = own->has_model = own->has_sites = own->has_fprime = false;
    own->has_light = own->has_light_occupancy = false;
    own->has_ncells = own->has_crystal_size = own->has_default_F = false;
    enum status s = split(text, c->words, sizeof c->words, argv, &argc, &cause);
    if (!s)
        s = opt_parse(&program, crystal_keys(), own, NULL, NULL, argc, argv, operands, &noperands,
                      &cause);
    inherit(own, common);
    return s ? error_set(e, s, "--crystal='%.60s': %s", text, cause.text) : STATUS_OK;
}

enum status geometry_crystals(const struct geometry_options *o, struct crystal_options **list,
                              size_t *count, struct error *e)
{
    *count = o->crystals.count ? o->crystals.count : 1;
    *list = mem_array(*count, sizeof **list);
    if (!*list)
        return error_memory(e, "the crystals");
    (*list)[0].options = *o;
    enum status s = STATUS_OK;
    for (size_t i = 0; i < o->crystals.count && !s; i++)
        s = parse_crystal(o, o->crystals.text[i], &(*list)[i], e);
    return s;
}

/* --- one crystal ----------------------------------------------------------- */

static enum status check_crystal(const struct geometry_options *o, struct error *e)
{
    const bool placed = o->has_cell || o->has_matrix, faithful = o->physics == PHYSICS_FAITHFUL;
    enum status s = o->hkl ? filetype_check_file(o->hkl, FILETYPE_HKL, e) : STATUS_OK;
    s = s ? s : opt_check(crystal_keys(), o, e);  // a list needs a cell, a wrong kind of file none
    if (s)
        return s;
    if (faithful && o->has_ncells && o->has_crystal_size)
        return error_set(e, STATUS_USAGE, "--ncells and --crystal-size exclude each other");
    if (o->has_light && !o->has_light_occupancy)
        return error_set(e, STATUS_USAGE, "--light needs --light-occupancy: how many are excited");
    if (faithful && o->has_spacegroup)
        return error_set(e, STATUS_USAGE, "--spacegroup is for --physics=physical");
    if (placed && !o->has_hkl && !o->has_mtz && !o->has_model && !o->has_default_F)
        return error_set(e, STATUS_USAGE,
                         "--%s needs structure factors: --model, --hkl, --mtz or --default-F",
                         o->has_cell ? "cell" : "matrix");
    return STATUS_OK;
}

/* Names stand in headers and lists whose items are parted by blanks. */
static enum status set_name(const struct geometry_options *o, struct crystal_request *c,
                            struct error *e)
{
    const char *name = o->name ? o->name : "";
    const size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("._+-", name[i]))
            return error_set(e, STATUS_USAGE,
                             "--name: '%.60s' must consist of letters, digits and . _ + -", name);
    if (length >= sizeof c->name)
        return error_set(e, STATUS_USAGE, "--name: '%.60s' is longer than %zu characters", name,
                         sizeof c->name - 1);
    memcpy(c->name, name, length + 1);
    return STATUS_OK;
}

static void set_extent(const struct geometry_options *o, struct crystal_request *c)
{
    c->has_cells = o->has_ncells || !o->has_crystal_size;
    for (int i = 0; i < 3; i++) {
        c->cells[i] = c->has_cells ? o->ncells[i] : 1;
        c->size_m[i] = o->has_crystal_size ? mm_to_m(o->crystal_size_mm[i]) : 0;
    }
}

/* What domains differ by. */
static enum status set_ensemble(const struct geometry_options *o, struct crystal_request *c,
                                struct error *e)
{
    c->has_ensemble = o->mosaic_model != 0;
    if (!c->has_ensemble &&
        (o->has_mosaic_rms || o->has_strain_rms || o->has_divergence_rms || o->has_ncells_across))
        return error_set(e, STATUS_USAGE,
                         "--mosaic-rms, --strain-rms, --divergence-rms and --ncells-across are for "
                         "--mosaic-model=gauss");
    if (c->has_ensemble && o->physics == PHYSICS_FAITHFUL)
        return error_set(e, STATUS_USAGE, "--mosaic-model=gauss is for --physics=physical");
    if (c->has_ensemble && c->shape != SHAPE_GAUSS)
        return error_set(e, STATUS_USAGE, "--mosaic-model=gauss is for --shape=gauss");
    for (int i = 0; i < 3; i++) {
        c->mosaic_rms_rad[i] = deg_to_rad(o->mosaic_rms_deg[i]);
        c->strain_rms[i] = percent_to_fraction(o->strain_rms_percent[i]);
        c->cells_across[i] = o->ncells_across[i];
    }
    c->divergence_rms_rad = mrad_to_rad(o->divergence_rms_mrad);
    return STATUS_OK;
}

/* No cell is typed whose angles are all as flat as numbers below pi say. */
static enum status check_angles(const double angle[3], struct error *e)
{
    if (angle[0] > M_PI || angle[1] > M_PI || angle[2] > M_PI || !(angle[0] > 0.0))
        return STATUS_OK;
    return error_set(e, STATUS_USAGE,
                     "--cell: angles of %g %g %g deg: in radians? They must be in degrees, as in "
                     "90,90,90",
                     angle[0], angle[1], angle[2]);
}

enum status geometry_crystal(const struct geometry_options *o, struct crystal_request *c,
                             struct error *e)
{
    memset(c, 0, sizeof *c);
    enum status s;
    if ((s = check_crystal(o, e)) || (s = set_name(o, c, e)))
        return s;
    set_extent(o, c);
    if (o->has_cell && (s = check_angles(o->cell + 3, e)))
        return s;
    c->has_cell = o->has_cell;
    c->has_matrix = o->has_matrix;
    for (int i = 0; i < 3; i++) {
        c->cell_A[i] = o->cell[i];
        c->cell_rad[i] = deg_to_rad(o->cell[3 + i]);
    }
    c->shape = (enum crystal_shape)o->shape;
    c->fudge = o->fudge;
    c->interpolate = (enum interpolation)o->interpolate;
    c->table.default_F = o->default_F;
    c->has_diffuse = o->has_diffuse_sigma;
    for (int i = 0; i < 3; i++) {
        c->diffuse_sigma_A[i] = o->diffuse_sigma_A[i];
        c->diffuse_gamma_A[i] = o->diffuse_gamma_A[i];
    }
    if (c->has_diffuse && o->physics == PHYSICS_FAITHFUL)
        return error_set(e, STATUS_USAGE, "--diffuse-sigma is for --physics=physical");
    return set_ensemble(o, c, e);
}
