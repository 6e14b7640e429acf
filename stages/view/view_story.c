#include "view_story.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/program.h"

/* --- JSON ------------------------------------------------------------------ */

/* Writes `text` as a JSON string.  Bytes that are not printable ASCII become question marks. */
static void put_text(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (const char *c = text; *c; c++)
        if (*c == '"' || *c == '\\')
            (void)fprintf(out, "\\%c", *c);
        else
            (void)fputc((unsigned char)*c < ' ' || (unsigned char)*c > '~' ? '?' : *c, out);
    (void)fputc('"', out);
}

static void put_vector(FILE *out, const char *name, const double v[3])
{
    (void)fprintf(out, ",\"%s\":[%.17g,%.17g,%.17g]", name, v[0], v[1], v[2]);
}

static void put_panel(FILE *out, const struct panel *p)
{
    (void)fprintf(out,
                  "{\"fastPixels\":%" PRId64 ",\"slowPixels\":%" PRId64 ",\"gridFast\":%" PRId64
                  ",\"gridSlow\":%" PRId64 ",\"pixel\":%.17g,\"distance\":%.17g,"
                  "\"beamFast\":%.17g,\"beamSlow\":%.17g,\"curved\":%s",
                  p->fast_pixels, p->slow_pixels, p->grid_fast, p->grid_slow, p->pixel_m,
                  p->distance_m, p->beam_fast_m, p->beam_slow_m, p->curved ? "true" : "false");
    put_vector(out, "fast", p->fast);
    put_vector(out, "slow", p->slow);
    put_vector(out, "normal", p->normal);
    put_vector(out, "origin", p->origin_m);
    (void)fputc('}', out);
}

static const char *layout_of(const struct experiment *x, const struct preview *p)
{
    return x->npanels == 1 ? "panel" : p->assembled ? "assembled" : "projected";
}

static void put_crystals(FILE *out, const struct experiment *x)
{
    (void)fputs(",\"crystals\":[", out);
    for (size_t i = 0; i < x->ncrystals; i++) {
        (void)fputs(i ? "," : "", out);
        put_text(out, x->crystals[i].name);
    }
    (void)fputc(']', out);
}

/* Writes a short description of the detector: number of panels, pixels of the panel `shown`, and
 * distance. */
static void put_detector(FILE *out, const struct experiment *x, const struct panel *shown)
{
    char text[128];
    (void)snprintf(text, sizeof text, "%zu panel%s, %" PRId64 " x %" PRId64 " pixels, %.4g mm",
                   x->npanels, x->npanels == 1 ? "" : "s", shown->fast_pixels, shown->slow_pixels,
                   1e3 * shown->distance_m);
    (void)fputs(",\"detector\":", out);
    put_text(out, text);
}

static bool is_partial(const struct panel *p)
{
    const struct roi *r = &p->roi;
    return p->mask || r->fast_min > 0 || r->slow_min > 0 || r->fast_max < p->fast_pixels - 1 ||
           r->slow_max < p->slow_pixels - 1;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void put_title(FILE *out, const struct experiment *x, const struct view_names *names)
{
    char text[3 * 256];
    const int n = names->count;
    const char *first = n ? base_name(names->paths[0]) : x->ncrystals ? x->crystals[0].name : "";
    if (names->title)
        (void)snprintf(text, sizeof text, "%s", names->title);
    else if (n > 1)
        (void)snprintf(text, sizeof text, "%.255s ... %.255s (%d files)", first,
                       base_name(names->paths[n - 1]), n);
    else
        (void)snprintf(text, sizeof text, "%s", *first ? first : "frames");
    (void)fputs(",\"title\":", out);
    put_text(out, text);
}

/* Writes a list of file names, in which name i belongs to frame i.  A single name belongs to all
 * frames.  The list is empty if there are several files, and a file may hold several frames. */
static void put_names(FILE *out, const struct view_names *names)
{
    const int n = names->count == 1 || names->one_each ? names->count : 0;
    (void)fputs(",\"names\":[", out);
    for (int i = 0; i < n; i++) {
        (void)fputs(i ? "," : "", out);
        put_text(out, base_name(names->paths[i]));
    }
    (void)fputc(']', out);
}

static void put_rings(FILE *out, const struct rings *rings)
{
    (void)fputs(",\"rings\":[", out);
    for (int i = 0; i < rings->count; i++)
        (void)fprintf(out, "%s%.6g", i ? "," : "", rings->d_A[i]);
    (void)fputc(']', out);
}

char *view_story(const struct experiment *x, const struct preview *p,
                 const struct view_names *names, const struct rings *rings)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    const struct panel *shown = preview_panel(p);
    (void)fprintf(out,
                  "{\"what\":\"stream\",\"version\":\"%s\",\"lineage\":\"%s\",\"layout\":\"%s\","
                  "\"masked\":%s,\"saturation\":%.17g,\"unit\":\"%s\"",
                  BRAGG_VERSION, x->lineage, layout_of(x, p), is_partial(shown) ? "true" : "false",
                  x->saturation, x->gain != 1 || x->adc_offset != 0 ? "ADU" : "photons");
    (void)fprintf(out, ",\"known\":%s", x->ncrystals ? "true" : "false");
    put_rings(out, rings);
    put_title(out, x, names);
    put_names(out, names);
    put_detector(out, x, shown);
    put_crystals(out, x);
    put_vector(out, "beam", x->beam.direction);
    (void)fputs(",\"shown\":", out);
    put_panel(out, shown);
    (void)fputs(",\"panels\":[", out);
    for (size_t i = 0; i < x->npanels; i++) {
        (void)fputs(i ? "," : "", out);
        put_panel(out, &x->panels[i]);
    }
    (void)fputs("]}", out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* --- the history of the stream ------------------------------------------------- */

void view_history_add(struct view_history *h, struct view_point p)
{
    if (h->count == VIEW_POINTS_MAX) {
        for (size_t i = 0; 2 * i < VIEW_POINTS_MAX; i++)
            h->points[i] = h->points[2 * i];
        h->count = VIEW_POINTS_MAX / 2;
        h->gap_s *= 2;
    }
    if (h->count > 1 && p.time_s - h->points[h->count - 2].time_s < h->gap_s)
        h->count--;
    h->points[h->count++] = p;
}

static void put_history(FILE *out, const struct view_history *h)
{
    (void)fputs(",\"history\":[", out);
    for (size_t i = 0; i < h->count; i++)
        (void)fprintf(out, "%s[%.3f,%" PRIu64 ",%" PRIu64 ",%.6g]", i ? "," : "",
                      h->points[i].time_s, h->points[i].came, h->points[i].hits,
                      h->points[i].brightness);
    (void)fputc(']', out);
}

char *view_epilogue(const char *words, uint64_t frames, const struct view_history *h)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    (void)fputs("{\"what\":\"end\",\"text\":", out);
    put_text(out, words);
    (void)fprintf(out, ",\"frames\":%" PRIu64, frames);
    put_history(out, h);
    (void)fputc('}', out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
