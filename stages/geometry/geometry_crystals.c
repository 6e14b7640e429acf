/*
 * The crystals of an experiment.  Each --crystal has KEY=VALUE words, whose keys are the options of
 * a single crystal; the same table parses them.  Options outside --crystal are the defaults of all
 * crystals.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "geometry_options.h"
#include "io/text/filetype.h"

enum { WORDS_MAX = 24 };

/* The rows after --crystal: the options of a single crystal. */
static const struct opt *crystal_keys(void)
{
    const struct opt *row = geometry_table;
    while (!row->name || strcmp(row->name, "crystal") != 0)
        row++;
    return row + 1;
}

/* Splits `text` at blanks into options "--KEY=VALUE", which are stored in `words` (`size` bytes)
 * and appended to argv. */
static enum status split(const char *text, char *words, size_t size, char **argv, int *argc,
                         struct error *e)
{
    static const char blanks[] = " \t\n";
    while (*(text += strspn(text, blanks))) {
        const size_t length = strcspn(text, blanks);
        if (!memchr(text, '=', length))
            return error_set(e, STATUS_USAGE, "got '%.*s'; expected KEY=VALUE",
                             (int)(length < 60 ? length : 60), text);
        if (*argc == WORDS_MAX || length + 3 > size)
            return error_set(e, STATUS_USAGE, "the value is too long; expected at most %d words",
                             WORDS_MAX - 1);
        memcpy(words, "--", 2);
        memcpy(words + 2, text, length);
        words[length + 2] = 0;
        argv[(*argc)++] = words;
        words += length + 3;
        size -= length + 3;
        text += length;
    }
    return *argc > 1 ? STATUS_OK
                     : error_set(e, STATUS_USAGE, "the value is empty; expected KEY=VALUE");
}

/* Unmarks those of `names`, separated by |, that the crystal itself does not give. */
static void yield(struct geometry_options *own, const struct geometry_options *typed,
                  const char *names)
{
    for (size_t length; (length = strcspn(names, "|")); names += length + (names[length] == '|')) {
        const struct opt *o = opt_find(geometry_table, names, length);
        opt_mark(o, own, opt_is_given(o, typed));
    }
}

/* Merges the marks of the common options into `own`.  If a crystal gives an option that excludes a
 * common one, the common option is dropped. */
static void inherit(struct geometry_options *own, const struct geometry_options *common)
{
    const struct geometry_options typed = *own;
    const bool faithful = own->request.physics == PHYSICS_FAITHFUL;
    for (size_t i = 0; i < sizeof own->given.bits / sizeof *own->given.bits; i++)
        own->given.bits[i] |= common->given.bits[i];
    if (geometry_given(&typed, "cell|matrix"))
        yield(own, &typed, "cell|matrix");
    if (geometry_given(&typed, "hkl|mtz|model"))
        yield(own, &typed, "hkl|mtz|model|sites|light");
    if (!geometry_given(own, "hkl"))
        yield(own, &typed, "spacegroup");
    if (!geometry_given(own, "mtz"))
        yield(own, &typed, "column");
    if (!geometry_given(own, "light"))
        yield(own, &typed, "light-occupancy");
    if (!geometry_given(own, "sites|anomalous"))
        yield(own, &typed, "fprime");
    if (faithful && geometry_given(&typed, "ncells|crystal-size"))
        yield(own, &typed, "ncells|crystal-size");
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
    own->given = (struct opt_marks){0};
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
    const bool faithful = o->request.physics == PHYSICS_FAITHFUL;
    enum status s = o->hkl ? filetype_check_file(o->hkl, FILETYPE_HKL, e) : STATUS_OK;
    s = s ? s
          : opt_check(geometry_table, crystal_keys(), o,
                      e);  // after the kind of the file: a file of the wrong kind needs no hint
                           // about a cell
    if (s)
        return s;
    if (faithful && geometry_given(o, "ncells"))
        s = opt_exclude(geometry_table, o, "ncells", "crystal-size", e);
    if (s)
        return s;
    if (geometry_given(o, "light") && !geometry_given(o, "light-occupancy"))
        return error_set(e, STATUS_USAGE,
                         "--light needs --light-occupancy=X, the fraction of excited molecules");
    if (geometry_given(o, "cell|matrix") && !geometry_given(o, "hkl|mtz|model|default-F"))
        return error_set(e, STATUS_USAGE,
                         "--%s needs structure factors. Add --model, --mtz, --hkl or --default-F",
                         geometry_given(o, "cell") ? "cell" : "matrix");
    return STATUS_OK;
}

/* Names appear in headers and lists whose items are separated by blanks. */
static enum status set_name(const struct geometry_options *o, struct crystal_request *c,
                            struct error *e)
{
    const char *name = o->name ? o->name : "";
    const size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("._+-", name[i]))
            return error_set(
                e, STATUS_USAGE,
                "--name: '%.60s' has other characters; expected letters, digits and . _ + -", name);
    if (length >= sizeof c->name)
        return error_set(e, STATUS_USAGE,
                         "--name: '%.60s' is too long; expected at most %zu characters", name,
                         sizeof c->name - 1);
    memcpy(c->name, name, length + 1);
    return STATUS_OK;
}

/* Cells of a block, and size of the crystal: without --ncells a crystal with a size is one block.
 */
static void set_extent(const struct geometry_options *o, struct crystal_request *c)
{
    const bool size = geometry_given(o, "crystal-size");
    c->blocks = !size || geometry_given(o, "ncells");
    for (int i = 0; i < 3; i++) {
        c->cells[i] = c->blocks ? c->cells[i] : 1;
        c->size_m[i] = size ? c->size_m[i] : 0;
    }
}

/* Three angles of at most pi degrees would make a flat cell, so they are probably radians. */
static enum status check_angles(const double angle[3], struct error *e)
{
    if (angle[0] > M_PI || angle[1] > M_PI || angle[2] > M_PI || !(angle[0] > 0.0))
        return STATUS_OK;
    return error_set(e, STATUS_USAGE,
                     "--cell: angles of %g, %g and %g deg are too small; expected degrees, as in "
                     "90,90,90. Did you give radians?",
                     angle[0], angle[1], angle[2]);
}

enum status geometry_crystal(const struct geometry_options *o, struct crystal_request *c,
                             struct error *e)
{
    *c = o->crystal;
    enum status s;
    if ((s = check_crystal(o, e)) || (s = set_name(o, c, e)))
        return s;
    set_extent(o, c);
    c->has_cell = geometry_given(o, "cell");
    c->has_matrix = geometry_given(o, "matrix");
    for (int i = 0; i < 3; i++) {
        c->cell_A[i] = o->cell[i];
        c->cell_rad[i] = deg_to_rad(o->cell[3 + i]);
    }
    if (c->has_cell && (s = check_angles(o->cell + 3, e)))
        return s;
    if (c->gauss && c->shape != SHAPE_GAUSS)
        return error_set(e, STATUS_USAGE, "--mosaic-model=gauss needs --shape=gauss");
    return STATUS_OK;
}
