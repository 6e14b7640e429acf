#include "score/crystfel_stream.h"

#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/input.h"
#include "base/number.h"
#include "base/units.h"
#include "io/filetype.h"

enum { TEXT_SIZE = 400, LINE_SIZE = 1 << 16 };

/* --- lines ----------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static enum status
fail(const struct crystfel_stream *s, struct error *e, const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(e, STATUS_INPUT, "%s:%ld: %s", s->path, s->number, text);
}

/* Reads a line; false at the end of the file, in a line without its end, and where it is none. */
static bool next_line(struct crystfel_stream *s)
{
    s->half_line = false;
    if (!fgets(s->line, LINE_SIZE, s->in))
        return false;
    const size_t length = strlen(s->line);
    s->half_line = !length || s->line[length - 1] != '\n';
    if (s->half_line)
        return false;
    s->line[length - 1] = 0;
    s->number++;
    return true;
}

static enum status ends_early(const struct crystfel_stream *s, const char *where, struct error *e)
{
    if (ferror(s->in))
        return error_errno(e, STATUS_FAILED, "%s: cannot read", s->path);
    if (s->half_line && !feof(s->in))
        return fail(s, e, "the next line has a zero byte or more than %d bytes, must be text",
                    LINE_SIZE - 2);
    return fail(s, e, "the stream ends in the middle of %s: truncated, or still written", where);
}

/* What stands behind `name` at the beginning of the line, or NULL. */
static const char *behind(const struct crystfel_stream *s, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(s->line, name, length) == 0 ? s->line + length : NULL;
}

static bool is(const struct crystfel_stream *s, const char *text)
{
    return strcmp(s->line, text) == 0;
}

/* The next `count` numbers; *at moves behind them. */
static bool take_reals(const char **at, int count, double *values)
{
    for (int i = 0; i < count; i++) {
        const char *end;
        values[i] = number_real(*at, &end);
        if (end == *at || values[i] - values[i] != 0.0)  // not finite
            return false;
        *at = end;
    }
    return true;
}

static bool take_whole(const char *text, uint64_t *value)
{
    const char *end;
    const intmax_t x = number_whole(text, &end);
    *value = (uint64_t)x;
    return end != text && x >= 0 && !*end;
}

/* --- the detector ------------------------------------------------------------ */

static enum status read_geometry(struct crystfel_stream *s, struct error *e)
{
    s->geometry_line = s->number + 1;
    s->geometry_length = 0;
    while (next_line(s)) {
        if (is(s, "----- End geometry file -----"))
            return STATUS_OK;
        const size_t length = strlen(s->line);
        char *more = mem_grow(s->geometry, s->geometry_length, length + 1, 1, &s->geometry_room);
        if (!more)
            return error_memory(e, "the geometry of a stream");
        s->geometry = more;
        memcpy(more + s->geometry_length, s->line, length);
        more[s->geometry_length + length] = '\n';
        s->geometry_length += length + 1;
    }
    return ends_early(s, "its geometry file", e);
}

/* The mean distance of the panels is what the chunk says. */
static void move_panels(struct geom *g, double distance_m)
{
    double mean = 0.0;
    for (size_t i = 0; i < g->npanels; i++)
        mean += g->panels[i].corner_m[2] / (double)g->npanels;
    for (size_t i = 0; i < g->npanels; i++)
        g->panels[i].corner_m[2] += distance_m - mean;
}

/* Where the geometry takes the distance from the frames, the chunk says it. */
static enum status need_detector(struct crystfel_stream *s, struct error *e)
{
    if (s->has_detector)
        return STATUS_OK;
    if (!s->geometry)
        return fail(s, e, "the stream has no geometry file at its beginning");
    enum status status = geom_parse(s->path, s->geometry_line, s->geometry, s->geometry_length, 0.0,
                                    &s->detector, e);
    if (status == STATUS_INPUT && s->distance_m > 0.0) {
        geom_free(&s->detector);
        status = geom_parse(s->path, s->geometry_line, s->geometry, s->geometry_length,
                            s->distance_m, &s->detector, e);
        if (!status)
            move_panels(&s->detector, s->distance_m);
    }
    s->has_detector = !status;
    if (status)
        geom_free(&s->detector);
    return status;
}

/* A panel by its name, before which blanks may stand; -1: there is none. */
static int32_t find_panel(const struct crystfel_stream *s, const char *name)
{
    name += strspn(name, " \t");
    for (size_t i = 0; i < s->detector.npanels; i++)
        if (strcmp(s->detector.panels[i].name, name) == 0)
            return (int32_t)i;
    return -1;
}

/* From the places in the data to those on the panel that is named at `name`. */
static enum status place(const struct crystfel_stream *s, const char *name, int32_t *panel,
                         double *fast, double *slow, struct error *e)
{
    *panel = find_panel(s, name);
    if (*panel < 0)
        return fail(s, e, "panel '%.60s' is not in the geometry file of the stream",
                    name + strspn(name, " \t"));
    *fast -= (double)s->detector.panels[*panel].first[0];
    *slow -= (double)s->detector.panels[*panel].first[1];
    return STATUS_OK;
}

/* --- tables -------------------------------------------------------------------- */

/* fs/px ss/px (1/d)/nm^-1 Intensity Panel */
static enum status read_peak(struct crystfel_stream *s, struct answer *a, struct error *e)
{
    const char *at = s->line;
    double v[4];
    if (!take_reals(&at, 4, v))
        return fail(s, e, "'%.60s' is no peak, must be fs ss 1/d intensity panel", s->line);
    struct answer_spot *spot = answer_add_spot(a);
    if (!spot)
        return error_memory(e, "spots");
    spot->fast = v[0];
    spot->slow = v[1];
    return place(s, at, &spot->panel, &spot->fast, &spot->slow, e);
}

/* h k l I sigma(I) peak background fs/px ss/px panel */
static enum status read_reflection(struct crystfel_stream *s, struct answer *a, struct error *e)
{
    const char *at = s->line;
    double v[9];
    if (!take_reals(&at, 9, v) || v[0] * v[0] + v[1] * v[1] + v[2] * v[2] > 1e9)
        return fail(s, e,
                    "'%.60s' is no reflection, must be h k l I sigma(I) peak background fs ss "
                    "panel",
                    s->line);
    struct answer_reflection *r = answer_add_reflection(a);
    if (!r)
        return error_memory(e, "reflections");
    for (int i = 0; i < 3; i++)
        r->hkl[i] = (int32_t)v[i];
    r->intensity = v[3] / s->gain;
    r->sigma = v[4] / s->gain;
    r->fast = v[7];
    r->slow = v[8];
    return place(s, at, &r->panel, &r->fast, &r->slow, e);
}

static enum status read_table(struct crystfel_stream *s, struct answer *a, const char *end,
                              enum status (*row)(struct crystfel_stream *, struct answer *,
                                                 struct error *),
                              struct error *e)
{
    enum status status = need_detector(s, e);
    bool heading = true;
    if (!status)
        s->gain = geom_gain(&s->detector, ev_to_m(s->energy_eV > 0.0 ? s->energy_eV : 1.0));
    while (!status && next_line(s)) {
        if (is(s, end))
            return STATUS_OK;
        if (!heading)
            status = row(s, a, e);
        heading = false;
    }
    return status ? status : ends_early(s, "a table", e);
}

/* --- chunks ---------------------------------------------------------------------- */

/* astar = +0.0920799 +0.0215058 -0.1405105 nm^-1 */
static enum status read_axis(const struct crystfel_stream *s, int column, const char *text,
                             double a_matrix[9], struct error *e)
{
    double v[3];
    if (!take_reals(&text, 3, v) || strcmp(text, " nm^-1") != 0)
        return fail(s, e, "'%.60s' is no axis, must be three numbers in nm^-1", s->line);
    for (int i = 0; i < 3; i++)
        a_matrix[3 * i + column] = 0.1 * v[i];
    return STATUS_OK;
}

static enum status read_crystal(struct crystfel_stream *s, struct answer *a, struct error *e)
{
    static const char *const names[] = {"astar = ", "bstar = ", "cstar = "};
    struct answer_lattice *l = answer_add_lattice(a);
    unsigned axes = 0;
    if (!l)
        return error_memory(e, "lattices");
    enum status status = STATUS_OK;
    while (!status && next_line(s)) {
        if (is(s, "--- End crystal")) {
            l->count = a->nreflections - l->first;
            return axes == 7 ? STATUS_OK : fail(s, e, "a crystal lacks astar, bstar or cstar");
        }
        for (int i = 0; i < 3 && !status; i++) {
            const char *text = behind(s, names[i]);
            if (text)
                status = read_axis(s, i, text, l->a_matrix, e);
            axes |= text ? 1u << i : 0u;
        }
        if (!status && is(s, "Reflections measured after indexing"))
            status = read_table(s, a, "End of reflections", read_reflection, e);
    }
    return status ? status : ends_early(s, "a crystal", e);
}

/* A line of the head of a chunk; what says nothing about the figures is passed over. */
static enum status read_setting(struct crystfel_stream *s, struct answer *a, struct error *e)
{
    const char *text;
    if ((text = behind(s, "Image filename: ")))
        (void)snprintf(a->file, sizeof a->file, "%s", text);
    else if ((text = behind(s, "Event: //")))
        a->has_event = take_whole(text, &a->event);
    else if ((text = behind(s, "hit = ")))
        a->hit = strcmp(text, "1") == 0;
    else if ((text = behind(s, "average_camera_length = ")))
        s->distance_m = number_real(text, &text);
    else if ((text = behind(s, "photon_energy_eV = ")))
        s->energy_eV = number_real(text, &text);
    else if ((text = behind(s, "header/int/frame_id = "))) {
        a->has_frame = take_whole(text, &a->frame);
        if (!a->has_frame)
            return fail(s, e, "frame_id is '%.40s', must be a whole number from 0", text);
    }
    return STATUS_OK;
}

static enum status read_chunk(struct crystfel_stream *s, struct answer *a, struct error *e)
{
    enum status status = STATUS_OK;
    a->line = s->number;
    while (!status && next_line(s)) {
        if (is(s, "----- End chunk -----"))
            return STATUS_OK;
        if (is(s, "Peaks from peak search"))
            status = read_table(s, a, "End of peak list", read_peak, e);
        else if (is(s, "--- Begin crystal"))
            status = read_crystal(s, a, e);
        else
            status = read_setting(s, a, e);
    }
    return status ? status : ends_early(s, "a chunk", e);
}

/* Tells what a file is that is no stream; pipes tell by their first line alone. */
static enum status check_type(struct crystfel_stream *s, struct error *e)
{
    struct stat st;
    if (fstat(fileno(s->in), &st) || !S_ISREG(st.st_mode))
        return STATUS_OK;
    const enum filetype type = filetype_of_file(s->in);
    rewind(s->in);
    return filetype_check(s->path, type, FILETYPE_STREAM, e);
}

enum status crystfel_stream_open(struct crystfel_stream *s, const char *path, struct error *e)
{
    *s = (struct crystfel_stream){.path = path, .in = input_open(path)};
    if (!s->in)
        return error_errno(e, STATUS_INPUT, "%s: cannot open", path);
    s->line = mem_array(LINE_SIZE, 1);
    if (!s->line)
        return error_memory(e, path);
    const enum status status = check_type(s, e);
    if (status)
        return status;
    const bool good = next_line(s) && behind(s, "CrystFEL stream format 2.");
    if (ferror(s->in))
        return error_errno(e, STATUS_FAILED, "%s: cannot read", path);
    return good ? STATUS_OK
                : error_set(e, STATUS_INPUT,
                            "%s: is no stream of CrystFEL: must begin with 'CrystFEL stream "
                            "format 2.'",
                            path);
}

enum status crystfel_stream_next(struct crystfel_stream *s, struct answer *a, bool *more,
                                 struct error *e)
{
    answer_clear(a);
    *more = false;
    while (next_line(s)) {
        if (is(s, "----- Begin geometry file -----")) {
            const enum status status = read_geometry(s, e);
            if (status)
                return status;
        } else if (is(s, "----- Begin chunk -----")) {
            *more = true;
            const enum status status = read_chunk(s, a, e);
            return status ? status : need_detector(s, e);
        }
    }
    return ferror(s->in) || s->half_line ? ends_early(s, "a line", e) : STATUS_OK;
}

void crystfel_stream_close(struct crystfel_stream *s)
{
    if (s->in)
        (void)fclose(s->in);
    mem_free(s->line);
    mem_free(s->geometry);
    if (s->has_detector)
        geom_free(&s->detector);
    *s = (struct crystfel_stream){0};
}
