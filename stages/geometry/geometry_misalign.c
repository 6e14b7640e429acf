/*
 * --misalign of bragg-geometry: true places of panels that differ from the nominal ones, and the
 * files that hold this ground truth.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "base/vec.h"
#include "geometry.h"
#include "io/output/output_file.h"
#include "physics/detector/detector.h"
#include "physics/detector/misalign.h"
#include "physics/setup.h"

/* --- the values of --misalign ------------------------------------------------------- */

enum { KIND_DETECTOR, KIND_GROUP, KIND_PANEL };

static const char GROUP[] = "group:";

/* A value of --misalign: "LEVEL shift=... tilt=...". */
struct level {
    char name[GEOM_NAME_SIZE + sizeof GROUP];  // "panel", "detector" or "group:NAME"
    int kind;
    double shift_m[3], tilt_rad[3];
};

#define MOST_SHIFT_UM 1e5
#define MOST_TILT_MRAD 500.0

static const struct opt words[] = {
    {"shift", "UM|F,S,N", "", OPT_REALS, offsetof(struct level, shift_m), 0, MOST_SHIFT_UM, 3,
     .flags = OPT_ONE_FOR_ALL, .si = SI_UM},
    {"tilt", "MRAD|F,S,N", "", OPT_REALS, offsetof(struct level, tilt_rad), 0, MOST_TILT_MRAD, 3,
     .flags = OPT_ONE_FOR_ALL, .si = SI_MRAD},
    {0},
};

static enum status refuse(const char *text, const char *what, struct error *e)
{
    return error_set(e, STATUS_USAGE,
                     "--misalign='%.80s': %s; expected LEVEL shift=F,S,N tilt=F,S,N, where LEVEL "
                     "is panel, group:NAME or detector",
                     text, what);
}

static enum status read_level(const char *word, const char *text, struct level *l, struct error *e)
{
    l->kind = strcmp(word, "panel") == 0                    ? KIND_PANEL
              : strcmp(word, "detector") == 0               ? KIND_DETECTOR
              : strncmp(word, GROUP, sizeof GROUP - 1) == 0 ? KIND_GROUP
                                                            : -1;
    if (l->kind < 0 || (l->kind == KIND_GROUP && !word[sizeof GROUP - 1]))
        return refuse(text, "the value does not begin with a level", e);
    if (strlen(word) >= sizeof l->name)
        return refuse(text, "the name of the group is too long", e);
    memcpy(l->name, word, strlen(word) + 1);
    return STATUS_OK;
}

/* Reads a word KEY=VALUE.  *given has a bit for each key. */
static enum status read_word(char *word, const char *text, unsigned *given, struct level *l,
                             struct error *e)
{
    char *value = strchr(word, '=');
    const struct opt *key = value ? opt_find(words, word, (size_t)(value - word)) : NULL;
    struct error cause = {0};
    if (!key)
        return refuse(text, "a word is not shift=F,S,N or tilt=F,S,N", e);
    if (*given & 1u << (key - words))
        return refuse(text, "a key is given twice", e);
    *given |= 1u << (key - words);
    if (opt_store(key, l, value + 1, &cause))
        return error_set(e, STATUS_USAGE, "--misalign='%.80s': %s", text, cause.text);
    return STATUS_OK;
}

static enum status parse_level(const char *text, struct level *l, struct error *e)
{
    *l = (struct level){.kind = -1};
    char *copy = mem_copy(text, strlen(text) + 1, 1), *rest = copy, *word;
    unsigned given = 0;
    enum status s = STATUS_OK;
    while (!s && (word = strsep(&rest, " \t\n"))) {
        if (!*word)
            continue;
        s = l->kind < 0 ? read_level(word, text, l, e) : read_word(word, text, &given, l, e);
    }
    mem_free(copy);
    if (!s && !(vec_length(l->shift_m) > 0.0 || vec_length(l->tilt_rad) > 0.0))
        s = refuse(text, "nothing moves", e);
    return s;
}

/* Parses all values into list[OPT_TEXTS_MAX], in the order in which they act: the detector, groups,
 * panels. */
static enum status parse_levels(const struct geometry_options *o, struct level *list, size_t *count,
                                struct error *e)
{
    enum status s = STATUS_OK;
    *count = 0;
    for (int kind = KIND_DETECTOR; kind <= KIND_PANEL; kind++)
        for (size_t i = 0; i < o->misalign.count && !s; i++) {
            struct level l;
            s = parse_level(o->misalign.text[i], &l, e);
            for (size_t k = 0; k < *count && !s && l.kind == kind; k++)
                if (strcmp(list[k].name, l.name) == 0)
                    s = error_set(e, STATUS_USAGE,
                                  "--misalign: the level '%s' is given twice; expected one value "
                                  "for each level",
                                  l.name);
            if (!s && l.kind == kind)
                list[(*count)++] = l;
        }
    return s;
}

enum status geometry_misalign_check(const struct geometry_options *o, struct error *e)
{
    struct level list[OPT_TEXTS_MAX];
    size_t count;
    return parse_levels(o, list, &count, e);
}

/* --- members of the levels ----------------------------------------------------------- */

/* Finds the groups of a level in the file of --geom or in the built-in detector. */
static enum status find_groups(const struct geometry_options *o, const struct geometry_panels *p,
                               const char *name, size_t npanels, int32_t *member, size_t *nmembers,
                               struct error *e)
{
    if (p->file.npanels)
        return geom_group_members(&p->file, o->geom, name, member, nmembers, e);
    *nmembers = p->named ? preset_groups(p->named, name, npanels, member) : 0;
    if (*nmembers)
        return STATUS_OK;
    if (p->named && p->named->nplaces)
        return error_set(e, STATUS_USAGE,
                         "--misalign: %s has no group '%.60s'; expected group:modules or "
                         "group:quadrants",
                         p->named->name, name);
    return error_set(e, STATUS_USAGE,
                     "--misalign: this detector has no groups of panels (got group:%.60s); "
                     "expected panel or detector. Groups are those of a file of --geom and of "
                     "built-in detectors such as agipd-1m",
                     name);
}

static enum status find_members(const struct geometry_options *o, const struct geometry_panels *p,
                                const struct level *l, size_t npanels, struct misalign_level *out,
                                int32_t *member, struct error *e)
{
    *out = (struct misalign_level){.name = l->name, .nmembers = npanels};
    vec_copy(out->shift_m, l->shift_m);
    vec_copy(out->tilt_rad, l->tilt_rad);
    if (l->kind == KIND_PANEL)
        return STATUS_OK;
    out->member = member;
    out->nmembers = 1;
    memset(member, 0, npanels * sizeof *member);
    return l->kind == KIND_DETECTOR
               ? STATUS_OK
               : find_groups(o, p, l->name + sizeof GROUP - 1, npanels, member, &out->nmembers, e);
}

/* Sets places->groups to the groups that each panel belongs to. */
static void note_groups(const struct misalign_level *levels, size_t nlevels, size_t npanels,
                        struct geometry_places *places)
{
    places->groups = mem_array(npanels, sizeof *places->groups);
    for (size_t i = 0; i < npanels; i++) {
        char *text = places->groups[i].text;
        for (const struct misalign_level *l = levels; l < levels + nlevels; l++)
            if (l->member && l->member[i] >= 0 && strncmp(l->name, GROUP, sizeof GROUP - 1) == 0) {
                const size_t at = strlen(text);
                (void)snprintf(text + at, sizeof places->groups[i].text - at, "%s%s:%" PRId32,
                               at ? "," : "", l->name + sizeof GROUP - 1, l->member[i]);
            }
    }
}

/* Moves the panels of *drawn. */
static enum status draw(const struct geometry_options *o, const struct geometry_panels *p,
                        struct experiment *drawn, struct geometry_places *places, struct error *e)
{
    struct level list[OPT_TEXTS_MAX];
    struct misalign_level levels[OPT_TEXTS_MAX];
    size_t count;
    const size_t n = drawn->npanels;
    enum status s = parse_levels(o, list, &count, e);
    int32_t *members = mem_array(n * (s ? 1 : count), sizeof *members);
    for (size_t i = 0; !s && i < count; i++)
        s = find_members(o, p, &list[i], n, &levels[i], members + i * n, e);
    if (!s) {
        misalign_move(levels, count, (uint64_t)o->misalign_seed, drawn);
        note_groups(levels, count, n, places);
    }
    mem_free(members);
    return s;
}

/* --- the true panels ----------------------------------------------------------------- */

/* Sets v[] to the vector with the components v[] along the axes of the beam's coordinate system. */
static void to_lab(const double frame[9], double v[3])
{
    double out[3];
    for (int i = 0; i < 3; i++)
        out[i] = v[0] * frame[i] + v[1] * frame[3 + i] + v[2] * frame[6 + i];
    vec_copy(v, out);
}

/* Sets list[] to the places of the panels of *drawn as a geometry file has them. */
static enum status round_places(const struct experiment *drawn, const double frame[9],
                                struct place *list, struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < drawn->npanels && !s; i++) {
        const struct panel *p = &drawn->panels[i];
        struct geom_panel rounded = {0};
        s = geom_panel_rounded(drawn, i, frame, &rounded, e);
        list[i] = (struct place){.pixels = {p->fast_pixels, p->slow_pixels}, .pixel_m = p->pixel_m};
        to_lab(frame, rounded.fast);
        to_lab(frame, rounded.slow);
        to_lab(frame, rounded.corner_m);
        vec_copy(list[i].fast, rounded.fast);
        vec_copy(list[i].slow, rounded.slow);
        vec_copy(list[i].corner_m, rounded.corner_m);
    }
    return s;
}

/* Makes the laboratory of *r again, with its panels at the places list[]. */
static enum status make_again(const struct request *r, struct place *list, size_t count,
                              struct experiment *x, struct error *e)
{
    struct request again = *r;
    again.detector.places = list;
    again.detector.nplaces = count;
    again.detector.lab_places = true;
    again.detector.mask = NULL;
    struct experiment made;
    struct error cause = {0};
    const enum status s = setup_laboratory(&again, &made, &cause);
    if (s) {
        experiment_free(&made);
        return error_set(e, s, "--misalign: the true places are not possible: %s", cause.text);
    }
    experiment_free(x);
    *x = made;
    return s;
}

enum status geometry_misalign(const struct geometry_options *o, const struct geometry_panels *p,
                              const struct request *r, struct experiment *x,
                              struct geometry_places *places, struct error *e)
{
    struct experiment drawn = *x;
    double frame[9];
    panels_frame(x, frame);
    places->drawn = drawn.panels = mem_copy(x->panels, x->npanels, sizeof *x->panels);
    for (size_t i = 0; i < x->npanels; i++)
        if (x->panels[i].curved)
            return error_set(e, STATUS_USAGE, "--misalign: a curved detector has no flat panels");
    enum status s = draw(o, p, &drawn, places, e);
    for (size_t i = 0; i < drawn.npanels && !s; i++)
        if (!(drawn.panels[i].close_distance_m > 1e-6))
            s = error_set(e, STATUS_INPUT,
                          "--misalign: the true panel %zu is not behind the sample; expected "
                          "smaller shifts and tilts",
                          i);
    struct place *list = mem_array(x->npanels, sizeof *list);
    s = s ? s : round_places(&drawn, frame, list, e);
    if (!s) {
        places->nominal.panels = x->panels;
        places->nominal.npanels = x->npanels;
        x->panels = NULL;
        x->npanels = 0;
        s = make_again(r, list, places->nominal.npanels, x, e);
    }
    mem_free(list);
    return s;
}

void geometry_end_misalign(struct geometry_places *places, struct experiment *x)
{
    if (!places->nominal.npanels)
        return;
    x->true_panels = x->panels;
    x->ntrue_panels = x->npanels;
    x->is_misaligned = true;
    x->panels = places->nominal.panels;
    places->nominal.panels = NULL;
    places->nominal.npanels = 0;
    for (size_t i = 0; i < x->npanels; i++)
        panel_complete_true(&x->true_panels[i], &x->panels[i]);
}

void geometry_places_free(struct geometry_places *places)
{
    experiment_free(&places->nominal);
    mem_free(places->drawn);
    mem_free(places->groups);
    *places = (struct geometry_places){0};
}

/* --- the table ----------------------------------------------------------------------- */

static void write_vector(FILE *out, const double frame[9], const double v[3], double unit)
{
    for (int i = 0; i < 3; i++)
        fprintf(out, "\t%.9g", vec_dot(frame + 3 * i, v) / unit);
}

static void write_row(FILE *out, const struct experiment *x, size_t i, const char *name,
                      const char *groups, const double frame[9])
{
    const struct panel *p = &x->true_panels[i];
    double shift_m[3], tilt_rad[3];
    misalign_between(&x->panels[i], p, shift_m, tilt_rad);
    fprintf(out, "%zu\t%s\t%s", i, *name ? name : "-", *groups ? groups : "-");
    for (int k = 0; k < 3; k++)
        fprintf(out, "\t%.6g", shift_m[k] * 1e6);
    for (int k = 0; k < 3; k++)
        fprintf(out, "\t%.6g", tilt_rad[k] * 1e3);
    write_vector(out, frame, p->origin_m, 1e-3);
    write_vector(out, frame, p->fast, 1.0);
    write_vector(out, frame, p->slow, 1.0);
    fprintf(out, "\n");
}

enum status geometry_write_misalign(const struct geometry_options *o,
                                    const struct geometry_panels *p,
                                    const struct geometry_places *places,
                                    const struct experiment *x, struct error *e)
{
    const char *path = o->misalign_truth;
    struct replace file;
    double frame[9];
    enum status s = path ? replace_open(&file, path, e) : STATUS_OK;
    if (s || !path)
        return s;
    file.guarded = !o->overwrite;
    panels_frame(x, frame);
    fprintf(file.stream,
            "panel\tname\tgroups\tshift_fast_um\tshift_slow_um\tshift_normal_um\ttilt_fast_mrad\t"
            "tilt_slow_mrad\ttilt_normal_mrad\tcorner_x_mm\tcorner_y_mm\tcorner_z_mm\tfast_x\t"
            "fast_y\tfast_z\tslow_x\tslow_y\tslow_z\n");
    for (size_t i = 0; i < x->npanels; i++)
        write_row(file.stream, x, i, i < p->file.npanels ? p->file.panels[i].name : "",
                  places->groups[i].text, frame);
    return replace_commit(&file, e);
}
