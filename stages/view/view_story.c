#include "view_story.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/version.h"

/* Writes a string of JSON.  Bytes that are not printable ASCII become question marks. */
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

static bool is_partial(const struct panel *p)
{
    const struct roi *r = &p->roi;
    return p->mask || r->fast_min > 0 || r->slow_min > 0 || r->fast_max < p->fast_pixels - 1 ||
           r->slow_max < p->slow_pixels - 1;
}

char *view_story(const struct experiment *x, const struct preview *p)
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

char *view_epilogue(const char *words, uint64_t frames)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    (void)fputs("{\"what\":\"end\",\"text\":", out);
    put_text(out, words);
    (void)fprintf(out, ",\"frames\":%" PRIu64 "}", frames);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
