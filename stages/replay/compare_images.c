/*
 * Compares the images of a series with each other: detector, beam, files, numbers and rotation.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "replay.h"

/* A contradiction: the first frame that has it, and how many frames have it. */
struct finding {
    const struct image_entry *first, *before;  // before: the frame that is contradicted, or NULL
    size_t frames;
};

static void count_finding(struct finding *f, bool found, const struct image_entry *entry,
                          const struct image_entry *before)
{
    if (!found)
        return;
    if (!f->frames++) {
        f->first = entry;
        f->before = before;
    }
}

enum { MORE_SIZE = 64 };

/* Writes the number of further frames as text for the end of a line, and returns `text`. */
static const char *more(const struct finding *f, char text[MORE_SIZE])
{
    text[0] = '\0';
    if (f->frames > 1)
        (void)snprintf(text, MORE_SIZE, " (and %zu more image%s)", f->frames - 1,
                       f->frames == 2 ? "" : "s");
    return text;
}

/* --- detector and beam ------------------------------------------------------------ */

/* Returns true if the header contains a value (`said` above 0) that differs from the value of
 * the stream (`sent`) by 1 % or more. */
static bool differs(double said, double sent)
{
    static const double ALIKE = 0.01;
    return said > 0 && !(fabs(said / sent - 1) < ALIKE);
}

/* Returns true if the beam of an image hits the panel more than 2 pixels away from the beam of
 * the experiment.  Smaller differences are accepted, because a detector may move a little
 * between frames. */
static bool hits_elsewhere(const struct image_header *h, const struct panel *p)
{
    static const double NEAR_PX = 2.0;
    return h->has_beam && hypot(h->beam_fast_m - p->beam_fast_m, h->beam_slow_m - p->beam_slow_m) >
                              NEAR_PX * p->pixel_m;
}

static void warn_beam(const struct finding *f, const char *first, const struct experiment *x)
{
    char text[MORE_SIZE];
    if (f->frames)
        log_line(LOG_WARNING,
                 "%s: the header has %.6g A and %.6g mm, but all frames are sent with %.6g A and "
                 "%.6g mm of %s%s",
                 f->first->path, m_to_angstrom(f->first->header.wavelength_m),
                 m_to_mm(f->first->header.distance_m), m_to_angstrom(x->beam.wavelength_m),
                 m_to_mm(x->panels->distance_m), first, more(f, text));
}

static void warn_pixels(const struct finding *f, const char *first, const struct experiment *x)
{
    char text[MORE_SIZE];
    if (f->frames)
        log_line(LOG_WARNING,
                 "%s: the header has pixels of %.6g mm, but all frames are sent with pixels of "
                 "%.6g mm of %s%s",
                 f->first->path, m_to_mm(f->first->header.pixel_m), m_to_mm(x->panels->pixel_m),
                 first, more(f, text));
}

static void warn_centre(const struct finding *f, const char *first, const struct experiment *x)
{
    char text[MORE_SIZE];
    if (!f->frames)
        return;
    const struct image_header *h = &f->first->header;
    const struct panel *p = x->panels;
    log_line(LOG_WARNING,
             "%s: according to the header, the beam hits pixel %.6g, %.6g, but all frames are "
             "sent with pixel %.6g, %.6g of %s%s",
             f->first->path, h->beam_fast_m / h->pixel_m, h->beam_slow_m / h->pixel_m,
             p->beam_fast_m / p->pixel_m, p->beam_slow_m / p->pixel_m, first, more(f, text));
}

static void warn_offset(const struct finding *f, const char *first, const struct experiment *x)
{
    char text[MORE_SIZE];
    if (f->frames)
        log_line(LOG_WARNING,
                 "%s: the header has %.6g for pixels without photons, but all frames are sent "
                 "with %.6g of %s%s",
                 f->first->path, f->first->header.adc_offset, x->adc_offset, first, more(f, text));
}

/* Compares all files with the first one, or with the file of the geometry, because the stream has
 * only one experiment. */
static void compare_setups(const struct image_entry *entries, size_t count, const char *geometry,
                           const struct experiment *x)
{
    const char *origin = geometry ? geometry : entries->path;
    static const double OFFSET_ADU = 0.5;
    struct finding beams = {0}, pixels = {0}, centres = {0}, offsets = {0};
    const struct panel *p = x->panels;
    for (size_t i = geometry ? 0 : 1; i < count; i++) {
        const struct image_entry *entry = &entries[i];
        const struct image_header *h = &entry->header;
        if (!entry->leads || !entry->played)
            continue;
        const bool beam =
            differs(h->wavelength_m, x->beam.wavelength_m) || differs(h->distance_m, p->distance_m);
        count_finding(&beams, beam, entry, entries);
        count_finding(&pixels, differs(h->pixel_m, p->pixel_m), entry, entries);
        count_finding(&centres, hits_elsewhere(h, p), entry, entries);
        count_finding(&offsets,
                      h->adc_offset != 0 && fabs(h->adc_offset - x->adc_offset) > OFFSET_ADU, entry,
                      entries);
    }
    warn_beam(&beams, origin, x);
    warn_pixels(&pixels, origin, x);
    warn_centre(&centres, origin, x);
    warn_offset(&offsets, origin, x);
}

/* --- files that are played twice --------------------------------------------------- */

static int compare_identities(const void *a, const void *b)
{
    const struct image_entry *p = *(const struct image_entry *const *)a,
                             *q = *(const struct image_entry *const *)b;
    if (p->device != q->device)
        return p->device < q->device ? -1 : 1;
    if (p->inode != q->inode)
        return p->inode < q->inode ? -1 : 1;
    return p < q ? -1 : p > q;
}

static void warn_twice(const struct finding *f)
{
    char text[MORE_SIZE];
    if (!f->frames)
        return;
    if (strcmp(f->first->path, f->before->path) == 0)
        log_line(LOG_WARNING, "%s: the file is listed twice, and is played twice%s", f->first->path,
                 more(f, text));
    else
        log_line(LOG_WARNING, "%s: is the same file as %s, and is played twice%s", f->first->path,
                 f->before->path, more(f, text));
}

/* Finds files that have the same identity, also if their names differ. */
static void compare_files(const struct image_entry *entries, size_t count)
{
    const struct image_entry **sorted = mem_array(count, sizeof *sorted);
    struct finding twice = {0};
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (entries[i].played && (!i || entries[i].path != entries[i - 1].path))
            sorted[n++] = &entries[i];
    qsort(sorted, n, sizeof *sorted, compare_identities);
    for (size_t i = 1; i < n; i++) {
        const struct image_entry *a = sorted[i - 1], *b = sorted[i];
        const bool same = a->device == b->device && a->inode == b->inode;
        count_finding(&twice, same, b, a);
    }
    mem_free(sorted);
    warn_twice(&twice);
}

/* --- numbers ----------------------------------------------------------------------- */

/* The number in the name of a file: `lyso_1_0017.cbf` has 17. */
struct numbered {
    size_t before;      // characters before the number
    const char *after;  // text after the number
    int64_t number;
};

/* Finds the last number in the name of a file, in front of the suffix.  A suffix of digits, such as
 * that of `lyso.0017`, is the number itself.  Returns false if there is no number. */
static bool find_number(const char *path, struct numbered *n)
{
    static const char digits[] = "0123456789";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.'), *end = name + strlen(name);
    if (dot && dot[1 + strspn(dot + 1, digits)])
        end = dot;
    while (end > name && !strchr(digits, end[-1]))
        end--;
    const char *start = end;
    while (start > name && strchr(digits, start[-1]))
        start--;
    if (start == end || end - start > 15)
        return false;
    *n = (struct numbered){(size_t)(start - path), end, strtoll(start, NULL, 10)};
    return true;
}

/* Returns by how much the number of a frame is larger than that of the frame before it.  Frames of
 * an NXmx file have numbers, and so have other files whose names differ only in a number.  Returns
 * 1 if there are no numbers to compare. */
static int64_t count_step(const struct image_entry *before, const struct image_entry *entry)
{
    struct numbered a, b;
    if (entry->nxmx || before->nxmx)
        return entry->path == before->path ? (int64_t)(entry->number - before->number) : 1;
    if (!find_number(before->path, &a) || !find_number(entry->path, &b) || a.before != b.before ||
        strcmp(a.after, b.after) != 0 || strncmp(before->path, entry->path, a.before) != 0)
        return 1;
    return b.number - a.number;
}

static void warn_numbers(const struct finding *gaps, const struct finding *falls)
{
    char text[MORE_SIZE];
    if (gaps->frames && gaps->first->nxmx)
        log_line(LOG_WARNING,
                 "%s: image %" PRIu64 " follows image %" PRIu64 ": images between them are "
                 "missing%s",
                 gaps->first->path, gaps->first->number, gaps->before->number, more(gaps, text));
    else if (gaps->frames)
        log_line(LOG_WARNING, "%s: follows %s: images between them are missing%s",
                 gaps->first->path, gaps->before->path, more(gaps, text));
    if (falls->frames)
        log_line(LOG_WARNING,
                 "%s: follows %s, which has a higher number. Frames have the order of the files "
                 "on the command line ('ls -v' sorts by number)%s",
                 falls->first->path, falls->before->path, more(falls, text));
}

/* --- rotation ---------------------------------------------------------------------- */

/* Returns true if two angles of frames that rotate by `width_deg` are not alike.  Headers have
 * angles with two decimals or more, and a start is compared with a sum of two such angles. */
static bool angles_differ(double difference_deg, double width_deg)
{
    static const double ALIKE = 0.02, ROUNDING_DEG = 0.015, MOST = 0.2;
    const double width = fabs(width_deg);
    return !(fabs(difference_deg) <= fmin(ALIKE * width + ROUNDING_DEG, MOST * width));
}

/* Returns true if a frame does not begin at the angle where the frame before it ends.  `step` is
 * the difference of their numbers.  A full turn makes no difference. */
static bool jumps(const struct image_entry *before, const struct image_entry *entry, int64_t step)
{
    const double width_deg = rad_to_deg(before->header.osc_rad);
    const double expected_deg = rad_to_deg(before->header.phi_rad) + (double)step * width_deg;
    return width_deg != 0 && entry->header.osc_rad != 0 &&
           angles_differ(remainder(rad_to_deg(entry->header.phi_rad) - expected_deg, 360),
                         width_deg);
}

static void warn_rotation(const struct finding *widths, const struct finding *starts)
{
    char text[MORE_SIZE];
    if (widths->frames)
        log_line(LOG_WARNING,
                 "%s: an image rotates by %.6g deg, but an image of %s rotates by %.6g deg%s",
                 widths->first->path, rad_to_deg(widths->first->header.osc_rad),
                 widths->before->path, rad_to_deg(widths->before->header.osc_rad),
                 more(widths, text));
    if (!starts->frames)
        return;
    const struct image_header *b = &starts->before->header;
    const double end_deg =
        rad_to_deg(b->phi_rad) +
        (double)count_step(starts->before, starts->first) * rad_to_deg(b->osc_rad);
    log_line(LOG_WARNING,
             "%s: the rotation starts at %.6g deg; expected %.6g deg after %s, which starts at "
             "%.6g deg and rotates by %.6g deg%s",
             starts->first->path, rad_to_deg(starts->first->header.phi_rad), end_deg,
             starts->before->path, rad_to_deg(b->phi_rad), rad_to_deg(b->osc_rad),
             more(starts, text));
}

/* Compares each frame with the one before it: numbers, angles and widths.  Only neighbours in the
 * list of files are compared, because the user chose the other gaps.  The points of a `mesh` all
 * rotate from the same angle. */
static void compare_neighbours(const struct image_entry *entries, size_t count, bool mesh)
{
    struct finding gaps = {0}, falls = {0}, widths = {0}, starts = {0};
    for (size_t i = 1; i < count; i++) {
        const struct image_entry *before = &entries[i - 1], *entry = &entries[i];
        if (!before->played || !entry->played)
            continue;
        const int64_t step = count_step(before, entry);
        const double a_deg = rad_to_deg(before->header.osc_rad),
                     b_deg = rad_to_deg(entry->header.osc_rad);
        count_finding(&gaps, step > 1, entry, before);
        count_finding(&falls, step < 0, entry, before);
        count_finding(
            &widths, a_deg != b_deg && angles_differ(a_deg - b_deg, fmax(fabs(a_deg), fabs(b_deg))),
            entry, before);
        count_finding(&starts, !mesh && step >= 1 && jumps(before, entry, step), entry, before);
    }
    warn_numbers(&gaps, &falls);
    warn_rotation(&widths, &starts);
}

void compare_images(const struct image_entry *entries, size_t count, const char *geometry,
                    const struct experiment *x)
{
    compare_setups(entries, count, geometry, x);
    compare_files(entries, count);
    compare_neighbours(entries, count, x->sample_moves);
}
