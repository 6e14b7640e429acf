#include "free_parameters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/opt.h"

static const char BACKGROUND[] = "background";
enum { NAMES_SIZE = 2048 };

/* Names without `background`, which the engine does not know. */
static enum status take_background(struct free_parameters *p, const char *names,
                                   char text[NAMES_SIZE], struct error *e)
{
    size_t at = 0;
    text[0] = '\0';
    if (strlen(names) >= NAMES_SIZE)
        return error_set(e, STATUS_USAGE, "--parameters: more than %d characters", NAMES_SIZE - 1);
    for (const char *name = names; name;) {
        const char *comma = strchr(name, ',');
        const int length = comma ? (int)(comma - name) : (int)strlen(name);
        if (length == (int)strlen(BACKGROUND) &&
            strncmp(name, BACKGROUND, strlen(BACKGROUND)) == 0) {
            if (p->has_background)
                return error_set(e, STATUS_USAGE, "parameter '%s' is there twice", BACKGROUND);
            p->has_background = true;
        } else {
            at +=
                (size_t)snprintf(text + at, NAMES_SIZE - at, "%s%.*s", at ? "," : "", length, name);
        }
        name = comma ? comma + 1 : NULL;
    }
    return STATUS_OK;
}

static void lay_out(struct free_parameters *p)
{
    size_t n = 0;
    for (size_t i = 0; i <= p->set.count; i++) {
        if (i == p->local_of_set && p->has_background) {
            p->name[n] = BACKGROUND;
            p->unit[n++] = "";
        }
        if (i < p->set.count) {
            p->name[n] = p->set.items[i].name;
            p->unit[n++] = p->set.items[i].unit;
        }
    }
    p->count = n;
    p->local = p->local_of_set + p->has_background;
    p->layout = (struct information_layout){.count = n, .local = p->local, .prior = p->prior};
}

enum status free_parameters_parse(struct free_parameters *p, const char *own, const char *share,
                                  const struct experiment *x, struct error *e)
{
    char text[2 * NAMES_SIZE + 1];
    enum status s = take_background(p, own, text, e);
    if (s)
        return s;
    if (*text && (s = parameters_parse(text, x, &p->set, e)))
        return s;
    p->local_of_set = p->set.count;
    if (share && strlen(share) >= NAMES_SIZE)
        return error_set(e, STATUS_USAGE, "--share: more than %d characters", NAMES_SIZE - 1);
    if (share) {
        (void)snprintf(text + strlen(text), NAMES_SIZE + 1, "%s%s", *text ? "," : "", share);
        p->set.count = 0;
        s = parameters_parse(text, x, &p->set, e);
    }
    lay_out(p);
    return s || p->count ? s : error_set(e, STATUS_USAGE, "--parameters: none is named");
}

size_t free_parameters_place(const struct free_parameters *p, size_t k)
{
    return k < p->local_of_set ? k : k + p->has_background;
}

enum status free_parameters_prior(struct free_parameters *p, const char *text, struct error *e)
{
    const char *colon = strrchr(text, ':');
    double sigma;
    if (!colon || colon == text)
        return error_set(e, STATUS_USAGE, "--prior: '%s' must be NAME:SIGMA", text);
    const enum status s = parse_real(colon + 1, 0.0, 1e30, "--prior", &sigma, e);
    if (s)
        return s;
    if (!(sigma > 0.0))
        return error_set(e, STATUS_USAGE, "--prior: '%s': sigma must be above 0", text);
    for (size_t i = 0; i < p->count; i++)
        if (strlen(p->name[i]) == (size_t)(colon - text) &&
            strncmp(p->name[i], text, (size_t)(colon - text)) == 0) {
            p->prior[i] += 1.0 / (sigma * sigma);
            return STATUS_OK;
        }
    char names[512] = "";
    for (size_t i = 0, at = 0; i < p->count && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "", p->name[i]);
    return error_set(e, STATUS_USAGE, "--prior: '%s' is of no parameter, must be of one of %s",
                     text, names);
}

void free_parameters_name(const struct free_parameters *p, const double *direction, char *text,
                          size_t size)
{
    double most = 0.0;
    size_t at = 0;
    *text = '\0';
    for (size_t i = 0; i < p->count; i++)
        most = fmax(most, fabs(direction[i]));
    for (size_t i = 0; i < p->count && at < size; i++)
        if (fabs(direction[i]) >= 0.2 * most && most > 0.0)
            at += (size_t)snprintf(text + at, size - at, "%s%s", at ? ", " : "", p->name[i]);
}
