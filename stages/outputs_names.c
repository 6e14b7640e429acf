#include "outputs_names.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/replace.h"

/* A name taken apart: its folder, "." or with a slash at the end, and what stands behind. */
struct place {
    char folder[TEMPLATE_PATH_MAX];
    const char *base;
};

static struct place place_of(const char *path)
{
    struct place p;
    const char *slash = strrchr(path, '/');
    (void)snprintf(p.folder, sizeof p.folder, "%.*s", slash ? (int)(slash + 1 - path) : 1,
                   slash ? path : ".");
    p.base = slash ? slash + 1 : path;
    return p;
}

static bool same_folder(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Whether a template has this name for one of its numbers, *number. */
static bool gives(const struct template *t, const char *base, uint64_t *number)
{
    struct template own = *t;
    own.text = place_of(t->text).base;
    own.start -= (size_t)(own.text - t->text);
    own.end -= (size_t)(own.text - t->text);
    *number = 0;
    return template_is_numbered(t) ? template_number(&own, base, number)
                                   : strcmp(own.text, base) == 0;
}

/* The templates of an output: its own, and that of the data files of a series. */
static int templates_of(const struct output *o, const struct template *all[2])
{
    all[0] = &o->name;
    all[1] = &o->series.data;
    return o->format == FORMAT_NXMX ? 2 : 1;
}

/* --- the index ----------------------------------------------------------- */

static enum status check_name(const struct outputs *o, const char *path, const char *index,
                              struct error *e)
{
    const struct place place = place_of(path);
    for (int i = 0; i < o->count; i++) {
        const struct template *all[2];
        for (int k = templates_of(&o->all[i], all); k-- > 0;) {
            uint64_t number;
            if (gives(all[k], place.base, &number) &&
                same_folder(place.folder, place_of(all[k]->text).folder))
                return error_set(e, STATUS_USAGE,
                                 "--index=%.60s is a name that '%.60s' gives, must be another one",
                                 index, all[k]->text);
        }
    }
    return STATUS_OK;
}

enum status outputs_check_index(const struct outputs *o, const char *index, struct error *e)
{
    struct stat st;
    char *real = realpath(index, NULL);  // where a link leads
    enum status s = check_name(o, index, index, e);
    if (s == STATUS_OK && real)
        s = check_name(o, real, index, e);
    else if (s == STATUS_OK && lstat(index, &st) == 0)
        s = error_set(e, STATUS_USAGE, "--index=%.60s is a link that leads nowhere", index);
    free(real);
    return s;
}

/* --- files --------------------------------------------------------------- */

/* A device is written in place, and nothing is lost with an empty file. */
static bool is_taken(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 &&
           (stat(path, &st) != 0 || S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && st.st_size));
}

static enum status check_template(const struct template *t, uint64_t first, uint64_t count,
                                  struct error *e)
{
    const struct place place = place_of(t->text);
    char path[TEMPLATE_PATH_MAX];
    uint64_t number, least = UINT64_MAX;
    DIR *folder = template_is_numbered(t) ? opendir(place.folder) : NULL;
    for (const struct dirent *d; folder && (d = readdir(folder));)
        if (gives(t, d->d_name, &number) && number >= first && number - first < count &&
            number < least) {
            template_name(t, number, path);
            least = is_taken(path) ? number : least;
        }
    if (folder)
        (void)closedir(folder);
    template_name(t, least, path);
    return least != UINT64_MAX || (!template_is_numbered(t) && is_taken(path))
               ? replace_refuse(path, e)
               : STATUS_OK;
}

enum status outputs_check_free(const struct outputs *o, uint64_t frames, struct error *e)
{
    enum status s = STATUS_OK;
    if (o->series)
        s = check_template(&o->series->series.data, 1,
                           nxmx_series_files(&o->series->series, frames), e);
    for (int i = 0; i < o->count && s == STATUS_OK; i++)
        s = check_template(&o->all[i].name, 0, frames, e);
    return s;
}
