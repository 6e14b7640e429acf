#include "free_parameters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/opt.h"
#include "engine/derivatives/parameter.h"

static const char BACKGROUND[] = "background";
enum { NAMES_SIZE = 2048 };

/* Copies the list `names` to `text` without the name `background`, which is not a parameter of
 * an engine. Sets p->has_background if the list contains this name. STATUS_USAGE: the list is
 * too long, or `background` is given twice. */
static enum status take_background(struct free_parameters *p, const char *names,
                                   char text[NAMES_SIZE], struct error *e)
{
    size_t at = 0;
    text[0] = '\0';
    if (strlen(names) >= NAMES_SIZE)
        return error_set(e, STATUS_USAGE, "--parameters: too long; expected at most %d characters",
                         NAMES_SIZE - 1);
    for (const char *name = names; name;) {
        const char *comma = strchr(name, ',');
        const int length = comma ? (int)(comma - name) : (int)strlen(name);
        if (length == (int)strlen(BACKGROUND) &&
            strncmp(name, BACKGROUND, strlen(BACKGROUND)) == 0) {
            if (p->has_background)
                return error_set(e, STATUS_USAGE,
                                 "parameter '%s' is given twice; expected each parameter once",
                                 BACKGROUND);
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
        return error_set(e, STATUS_USAGE,
                         "--share: the list is too long; expected at most %d characters",
                         NAMES_SIZE - 1);
    if (share) {
        (void)snprintf(text + strlen(text), NAMES_SIZE + 1, "%s%s", *text ? "," : "", share);
        p->set.count = 0;
        s = parameters_parse(text, x, &p->set, e);
    }
    lay_out(p);
    return s || p->count
               ? s
               : error_set(e, STATUS_USAGE,
                           "--parameters: no name given; expected names such as rot,cell");
}

size_t free_parameters_place(const struct free_parameters *p, size_t k)
{
    return k < p->local_of_set ? k : k + p->has_background;
}

bool free_parameters_is_log(const struct free_parameters *p, size_t k)
{
    const size_t of_set = k - (p->has_background && k > p->local_of_set);
    return (p->has_background && k == p->local_of_set) ||
           parameter_step_is_log(&p->set.items[of_set]);
}

/* Sets *at to the number of the parameter whose name is the first `length` bytes of the prior
 * `text`. STATUS_USAGE: there is no such parameter. */
static enum status find_name(const struct free_parameters *p, const char *text, size_t length,
                             size_t *at, struct error *e)
{
    char names[512] = "";
    for (*at = 0; *at < p->count; ++*at)
        if (strlen(p->name[*at]) == length && strncmp(p->name[*at], text, length) == 0)
            return STATUS_OK;
    for (size_t i = 0, end = 0; i < p->count && end < sizeof names; i++)
        end += (size_t)snprintf(names + end, sizeof names - end, "%s%s", i ? ", " : "", p->name[i]);
    return error_set(e, STATUS_USAGE, "--prior: '%s' does not name a parameter; expected one of %s",
                     text, names);
}

enum status free_parameters_prior(struct free_parameters *p, const char *text, bool centred,
                                  struct error *e)
{
    char middle[64] = "";
    const char *first = strchr(text, ':'), *last = strrchr(text, ':');
    double sigma, centre = 0.0;
    size_t at;
    const size_t length = first && last > first ? (size_t)(last - first - 1) : 0;
    if (!first || first == text || length >= sizeof middle ||
        (last > first && (!centred || !length || memchr(first + 1, ':', length))))
        return error_set(e, STATUS_USAGE, "--prior: '%s' is malformed; expected NAME:SIGMA%s", text,
                         centred ? " or NAME:CENTRE:SIGMA" : "");
    enum status s = parse_real(last + 1, 0.0, 1e30, "--prior", &sigma, e);
    if (!s && length) {
        memcpy(middle, first + 1, length);
        s = parse_real(middle, -1e30, 1e30, "--prior", &centre, e);
    }
    s = s ? s : find_name(p, text, (size_t)(first - text), &at, e);
    if (s)
        return s;
    if (!(sigma > 0.0))
        return error_set(e, STATUS_USAGE, "--prior: '%s': sigma is not above 0", text);
    if (length && free_parameters_is_log(p, at) && !(centre > 0.0))
        return error_set(e, STATUS_USAGE, "--prior: '%s': the centre is not above 0", text);
    if ((length || p->has_centre[at]) && p->prior[at] > 0.0)
        return error_set(e, STATUS_USAGE,
                         "--prior: '%s' is given twice; expected each parameter once", p->name[at]);
    p->prior[at] += 1.0 / (sigma * sigma);
    p->has_centre[at] = length > 0;
    p->centre[at] = centre;
    return STATUS_OK;
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
