/* Reads streams of CrystFEL: chunks with peaks, lattices and reflections. */
#include "score/results.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"

/* --- lines ---------------------------------------------------------------------- */

/* Returns the text after `name` if the line begins with `name`; otherwise NULL. */
static const char *behind(const struct crystfel_stream *s, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(s->lines.line, name, length) == 0 ? s->lines.line + length : NULL;
}

static bool line_is(const struct crystfel_stream *s, const char *text)
{
    return strcmp(s->lines.line, text) == 0;
}

/* Reads the next `count` numbers, which may be NaN, and moves *at after them.  Returns false if
 * there are fewer numbers. */
static bool take_any(const char **at, int count, double *values)
{
    for (int i = 0; i < count; i++) {
        const char *end;
        values[i] = number_real(*at, &end);
        if (end == *at)
            return false;
        *at = end;
    }
    return true;
}

/* Reads the next `count` numbers, which must be finite, and moves *at after them.  Returns false
 * if they are not. */
static bool take_reals(const char **at, int count, double *values)
{
    if (!take_any(at, count, values))
        return false;
    for (int i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
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
    s->geometry_line = s->lines.number + 1;
    s->geometry_length = 0;
    while (lines_next(&s->lines)) {
        if (line_is(s, "----- End geometry file -----"))
            return STATUS_OK;
        const size_t length = strlen(s->lines.line);
        char *more = mem_grow(s->geometry, s->geometry_length, length + 1, 1, &s->geometry_room);
        s->geometry = more;
        memcpy(more + s->geometry_length, s->lines.line, length);
        more[s->geometry_length + length] = '\n';
        s->geometry_length += length + 1;
    }
    return lines_end_early(&s->lines, "its geometry file", e);
}

/* Moves the panels along the beam so that their mean distance is the one that the chunk gives. */
static void move_panels(struct geom *g, double distance_m)
{
    double mean = 0.0;
    for (size_t i = 0; i < g->npanels; i++)
        mean += g->panels[i].corner_m[2] / (double)g->npanels;
    for (size_t i = 0; i < g->npanels; i++)
        g->panels[i].corner_m[2] += distance_m - mean;
}

/* Makes the detector from the text of the geometry, unless it was made before.  If the geometry
 * takes the distance from the frames, the distance of the present chunk is used. */
static enum status need_detector(struct crystfel_stream *s, struct error *e)
{
    if (s->has_detector)
        return STATUS_OK;
    if (!s->geometry)
        return lines_fail(&s->lines, e, "the stream has no geometry file at its beginning");
    enum status status = geom_parse(s->lines.path, s->geometry_line, s->geometry,
                                    s->geometry_length, 0.0, &s->detector, e);
    if (status == STATUS_INPUT && s->distance_m > 0.0) {
        geom_free(&s->detector);
        status = geom_parse(s->lines.path, s->geometry_line, s->geometry, s->geometry_length,
                            s->distance_m, &s->detector, e);
        if (!status)
            move_panels(&s->detector, s->distance_m);
    }
    s->has_detector = !status;
    if (status)
        geom_free(&s->detector);
    return status;
}

/* Returns the panel with this name, which may follow blanks.  Returns -1 if there is none. */
static int32_t find_panel(const struct crystfel_stream *s, const char *name)
{
    name += strspn(name, " \t");
    for (size_t i = 0; i < s->detector.npanels; i++)
        if (strcmp(s->detector.panels[i].name, name) == 0)
            return (int32_t)i;
    return -1;
}

/* Converts (*fast, *slow) from a place in the data to a place on the panel with this name, and
 * sets *panel.  STATUS_INPUT: there is no such panel. */
static enum status place_on_panel(const struct crystfel_stream *s, const char *name, int32_t *panel,
                                  double *fast, double *slow, struct error *e)
{
    *panel = find_panel(s, name);
    if (*panel < 0)
        return lines_fail(&s->lines, e, "panel '%.60s' is not in the geometry file of the stream",
                          name + strspn(name, " \t"));
    *fast -= (double)s->detector.panels[*panel].first[0];
    *slow -= (double)s->detector.panels[*panel].first[1];
    return STATUS_OK;
}

/* --- tables -------------------------------------------------------------------- */

/* Reads a line "fs/px ss/px (1/d)/nm^-1 Intensity Panel" and adds its spot to *a. */
static enum status read_peak(struct crystfel_stream *s, struct answer *a, struct error *e)
{
    const char *at = s->lines.line;
    double v[4];
    if (!take_reals(&at, 4, v))
        return lines_fail(&s->lines, e, "'%.60s' is not a peak; expected fs ss 1/d intensity panel",
                          s->lines.line);
    struct answer_spot *spot = answer_add_spot(a);
    spot->fast = v[0];
    spot->slow = v[1];
    spot->intensity = v[3] / s->gain;
    return place_on_panel(s, at, &spot->panel, &spot->fast, &spot->slow, e);
}

/* Reads a line "h k l I sigma(I) peak background fs/px ss/px panel" and adds its reflection to
 * *a.  If indexamajig cannot measure an intensity, it writes NaN; the reflection is still
 * predicted at this place. */
static enum status read_reflection(struct crystfel_stream *s, struct answer *a, struct error *e)
{
    const char *at = s->lines.line;
    double hkl[3], value[4], at_px[2];
    if (!take_reals(&at, 3, hkl) || !take_any(&at, 4, value) || !take_reals(&at, 2, at_px) ||
        hkl[0] * hkl[0] + hkl[1] * hkl[1] + hkl[2] * hkl[2] > 1e9 || hkl[0] != rint(hkl[0]) ||
        hkl[1] != rint(hkl[1]) || hkl[2] != rint(hkl[2]))
        return lines_fail(
            &s->lines, e,
            "'%.60s' is not a reflection; expected h k l I sigma(I) peak background fs ss panel",
            s->lines.line);
    struct answer_reflection *r = answer_add_reflection(a);
    for (int i = 0; i < 3; i++)
        r->hkl[i] = (int32_t)hkl[i];
    r->measured = isfinite(value[0]) && isfinite(value[1]);
    if (r->measured) {
        r->intensity = value[0] / s->gain;
        r->sigma = value[1] / s->gain;
    }
    r->fast = at_px[0];
    r->slow = at_px[1];
    return place_on_panel(s, at, &r->panel, &r->fast, &r->slow, e);
}

static bool same_words(const char *a, const char *b)
{
    static const char blanks[] = " \t";
    for (;;) {
        a += strspn(a, blanks);
        b += strspn(b, blanks);
        const size_t length = strcspn(a, blanks);
        if (length != strcspn(b, blanks) || strncmp(a, b, length) != 0)
            return false;
        if (!length)
            return true;
        a += length;
        b += length;
    }
}

static enum status
read_table(struct crystfel_stream *s, struct answer *a, const char *end, const char *columns,
           enum status (*row)(struct crystfel_stream *, struct answer *, struct error *),
           struct error *e)
{
    enum status status = need_detector(s, e);
    bool heading = true;
    if (!status)
        s->gain = geom_gain(&s->detector, ev_to_m(s->energy_eV > 0.0 ? s->energy_eV : 1.0));
    while (!status && lines_next(&s->lines)) {
        if (line_is(s, end))
            return STATUS_OK;
        if (heading && !same_words(s->lines.line, columns))
            status = lines_fail(&s->lines, e, "the columns are '%.80s'; expected %s", s->lines.line,
                                columns);
        else if (!heading)
            status = row(s, a, e);
        heading = false;
    }
    return status ? status : lines_end_early(&s->lines, "a table", e);
}

/* --- chunks ---------------------------------------------------------------------- */

/* Reads a line "astar = +0.0920799 +0.0215058 -0.1405105 nm^-1" into a column of the matrix. */
static enum status read_axis(const struct crystfel_stream *s, int column, const char *text,
                             double a_matrix[9], struct error *e)
{
    double v[3];
    if (!take_reals(&text, 3, v) || strcmp(text, " nm^-1") != 0)
        return lines_fail(&s->lines, e, "'%.60s' is not an axis; expected three numbers in nm^-1",
                          s->lines.line);
    for (int i = 0; i < 3; i++)
        a_matrix[3 * i + column] = 0.1 * v[i];
    return STATUS_OK;
}

/* Reads the centring of a cell.  H in CrystFEL is a hexagonal cell in the obverse setting.  R in
 * CrystFEL has rhombohedral axes and is primitive. */
static enum status read_centring(const struct crystfel_stream *s, const char *text, char *centring,
                                 struct error *e)
{
    if (!*text || text[1] || !strchr("PABCIFHR?", *text))
        return lines_fail(&s->lines, e,
                          "the centering is '%.40s'; expected P, A, B, C, I, F, H or R", text);
    *centring = (char)(*text == 'H' ? 'R' : *text == 'R' ? 'P' : *text == '?' ? 0 : *text);
    return STATUS_OK;
}

static enum status read_crystal(struct crystfel_stream *s, struct answer *a, struct error *e)
{
    static const char *const names[] = {"astar = ", "bstar = ", "cstar = "};
    struct answer_lattice *l = answer_add_lattice(a);
    unsigned axes = 0;
    enum status status = STATUS_OK;
    while (!status && lines_next(&s->lines)) {
        if (line_is(s, "--- End crystal")) {
            l->count = a->nreflections - l->first;
            return axes == 7 ? STATUS_OK
                             : lines_fail(&s->lines, e, "a crystal has no astar, bstar or cstar");
        }
        for (int i = 0; i < 3 && !status; i++) {
            const char *text = behind(s, names[i]);
            if (text && axes & 1u << i)
                return lines_fail(&s->lines, e, "'%.60s' occurs twice in a crystal", s->lines.line);
            if (text)
                status = read_axis(s, i, text, l->a_matrix, e);
            axes |= text ? 1u << i : 0u;
        }
        const char *centring = behind(s, "centering = ");
        if (!status && centring)
            status = read_centring(s, centring, &l->centring, e);
        if (!status && line_is(s, "Reflections measured after indexing"))
            status = read_table(s, a, "End of reflections",
                                "h k l I sigma(I) peak background fs/px ss/px panel",
                                read_reflection, e);
    }
    return status ? status : lines_end_early(&s->lines, "a crystal", e);
}

/* Returns the text after "frame_id = " of a line that --copy-header wrote, or NULL.  The name
 * before it is header/TYPE/frame_id, with the path of an HDF5 data set
 * header/TYPE//entry_1/frame_id, and before version 0.10 hdf5/entry_1/frame_id. */
static const char *frame_header(const struct crystfel_stream *s)
{
    static const char wanted[] = "frame_id = ";
    const char *line = s->lines.line, *equals = strchr(line, '=');
    const size_t length = sizeof wanted - 1;
    if (!equals || (!behind(s, "header/") && !behind(s, "hdf5/")))
        return NULL;
    const char *name = equals + 2 - length;
    return name > line && name[-1] == '/' && strncmp(name, wanted, length) == 0 ? name + length
                                                                                : NULL;
}

/* Reads a frame number.  A header of floats writes it with zeros after the decimal point.  A header
 * of text means that the message was corrupt. */
static enum status read_frame(const struct crystfel_stream *s, const char *text, struct answer *a,
                              struct error *e)
{
    uint64_t frame;
    const char *end;
    const double real = number_real(text, &end);
    bool good = take_whole(text, &frame);
    if (behind(s, "header/str/frame_id")) {  // the message was corrupt
        a->no_number = true;
        return STATUS_OK;
    }
    if (!good && end != text && !*end && real >= 0.0 && real < 0x1p53 && real == rint(real)) {
        frame = (uint64_t)real;
        good = true;
    }
    if (!good)
        return lines_fail(&s->lines, e, "frame_id is '%.40s'; expected a whole number from 0",
                          text);
    if (a->has_frame && a->frame != frame)
        return lines_fail(&s->lines, e,
                          "the chunk has two values of frame_id (%" PRIu64 ", before %" PRIu64
                          "); expected one number",
                          frame, a->frame);
    a->has_frame = true;
    a->frame = frame;
    return STATUS_OK;
}

/* Reads the name of an event.  "//3" is image 3 of its file, "//" the image of a file with one
 * image.  A number of other axes or the name of a data set before // does not identify the image.
 */
static void read_event(struct crystfel_stream *s, const char *text, struct answer *a)
{
    const bool only = strcmp(text, "//") == 0 || strcmp(text, "(none)") == 0;
    a->has_event = strncmp(text, "//", 2) == 0 && take_whole(text + 2, &a->event);
    if (!a->has_event && !only)
        (void)snprintf(s->event, sizeof s->event, "%s", text);
}

static enum status read_amount(const struct crystfel_stream *s, const char *name, const char *text,
                               const char *unit, double *value, struct error *e)
{
    const char *end;
    *value = number_real(text, &end);
    if (end == text || !isfinite(*value) || *value < 0.0 || strcmp(end, unit) != 0)
        return lines_fail(&s->lines, e, "%s is '%.40s'; expected a number from 0%s%s", name, text,
                          *unit ? " in" : "", unit);
    return STATUS_OK;
}

/* Reads a line of the head of a chunk.  Lines that do not matter for the metrics are skipped. */
static enum status read_setting(struct crystfel_stream *s, struct answer *a, struct error *e)
{
    const char *text;
    if ((text = behind(s, "Image filename: ")))
        (void)snprintf(a->file, sizeof a->file, "%s", text);
    else if ((text = behind(s, "Event: ")))
        read_event(s, text, a);
    else if ((text = behind(s, "hit = "))) {
        a->says_hit = true;
        a->hit = strcmp(text, "1") == 0;
        if (!a->hit && strcmp(text, "0") != 0)
            return lines_fail(&s->lines, e, "hit is '%.40s'; expected 1 or 0", text);
    } else if ((text = behind(s, "average_camera_length = ")))
        return read_amount(s, "average_camera_length", text, " m", &s->distance_m, e);
    else if ((text = behind(s, "photon_energy_eV = ")))
        return read_amount(s, "photon_energy_eV", text, "", &s->energy_eV, e);
    else if (behind(s, "header/str/fate = "))
        s->has_fate = true;
    else if ((text = frame_header(s)))
        return read_frame(s, text, a, e);
    return STATUS_OK;
}

static enum status read_chunk(struct crystfel_stream *s, struct answer *a, struct error *e)
{
    enum status status = STATUS_OK;
    a->line = s->lines.number;
    s->event[0] = 0;
    while (!status && lines_next(&s->lines)) {
        if (line_is(s, "----- End chunk -----")) {
            a->time_s = lines_now(&s->lines);
            a->wavelength_A = s->energy_eV > 0.0 ? 1e10 * ev_to_m(s->energy_eV) : 0.0;
            if (!a->has_frame && *s->event)
                return lines_fail(&s->lines, e,
                                  "the event '%.40s' is not the number of an image; expected "
                                  "//NUMBER, or header/int/frame_id from indexamajig --copy-header",
                                  s->event);
            if (!a->has_frame && !a->has_event && !a->no_number)
                a->has_frame = answer_frame_of_name(a->file, &a->frame);
            return STATUS_OK;
        }
        if (line_is(s, "Peaks from peak search"))
            status = read_table(s, a, "End of peak list", "fs/px ss/px (1/d)/nm^-1 Intensity Panel",
                                read_peak, e);
        else if (line_is(s, "--- Begin crystal"))
            status = read_crystal(s, a, e);
        else
            status = read_setting(s, a, e);
    }
    return status ? status : lines_end_early(&s->lines, "a chunk", e);
}

enum status crystfel_stream_open(struct crystfel_stream *s, const char *path,
                                 const struct follow *follow, struct error *e)
{
    *s = (struct crystfel_stream){0};
    const enum status status = lines_open(&s->lines, path, FILETYPE_RESULTS, follow, e);
    if (status)
        return status;
    const bool good = lines_next(&s->lines) && behind(s, "CrystFEL stream format 2.");
    if (ferror(s->lines.in))
        return error_errno(e, STATUS_FAILED, "%s: cannot read", path);
    return good ? STATUS_OK
                : error_set(e, STATUS_INPUT,
                            "%s: not a CrystFEL stream; expected 'CrystFEL stream format 2.' in "
                            "the first line",
                            path);
}

enum status crystfel_stream_next(struct crystfel_stream *s, struct answer *a, bool *more,
                                 struct error *e)
{
    answer_clear(a);
    *more = false;
    while (lines_next(&s->lines)) {
        if (line_is(s, "----- Begin geometry file -----")) {
            const enum status status = read_geometry(s, e);
            if (status)
                return status;
        } else if (line_is(s, "----- Begin chunk -----")) {
            *more = true;
            const enum status status = read_chunk(s, a, e);
            return status ? status : need_detector(s, e);
        }
    }
    return ferror(s->lines.in) || s->lines.half_line ? lines_end_early(&s->lines, "a line", e)
                                                     : STATUS_OK;
}

void crystfel_stream_close(struct crystfel_stream *s)
{
    lines_close(&s->lines);
    mem_free(s->geometry);
    if (s->has_detector)
        geom_free(&s->detector);
    *s = (struct crystfel_stream){0};
}
