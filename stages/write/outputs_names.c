/* Finds clashes between names: two outputs, an output and the index, an output and other files. */
#include "outputs_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/output/replace.h"

/* A path, split into folder and name. */
struct place {
    char folder[TEMPLATE_PATH_MAX];  // "." or with a slash at the end
    const char *base;                // name behind the last slash, in the path itself
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

/* Returns true if a template makes this name with some number, which goes to *number. */
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

/* Lists the templates of an output: its own, and for a series those of the data files and of their
 * .part files.  Returns their number. */
static int templates_of(const struct output *o, const struct template *all[3])
{
    all[0] = &o->name;
    all[1] = &o->series.data;
    all[2] = &o->series.spools;
    return o->format == FORMAT_NXMX ? 3 : 1;
}

/* --- the index ----------------------------------------------------------- */

static enum status check_name(const struct outputs *o, const char *path, const char *index,
                              struct error *e)
{
    const struct place place = place_of(path);
    for (int i = 0; i < o->count; i++) {
        const struct template *all[3];
        for (int k = templates_of(&o->all[i], all); k-- > 0;) {
            uint64_t number;
            if (gives(all[k], place.base, &number) &&
                same_folder(place.folder, place_of(all[k]->text).folder))
                return error_set(e, STATUS_USAGE,
                                 "--index=%.60s is also a name that '%.60s' makes; give the index "
                                 "another name",
                                 index, all[k]->text);
        }
    }
    return STATUS_OK;
}

enum status outputs_check_index(const struct outputs *o, const char *index, struct error *e)
{
    struct stat st;
    char *real = realpath(index, NULL);  // resolves symbolic links
    enum status s = check_name(o, index, index, e);
    if (s == STATUS_OK && real)
        s = check_name(o, real, index, e);
    else if (s == STATUS_OK && lstat(index, &st) == 0)
        s = error_set(e, STATUS_USAGE,
                      "--index=%.60s is a broken link; remove it, or give another name", index);
    free(real);
    return s;
}

/* --- two outputs --------------------------------------------------------- */

/* How many numbers are tried.  Two templates can only differ by the digits next to their number,
 * which are few. */
enum { TRIED = 1000 };

static bool share_a_name(const struct template *a, const struct template *b)
{
    char path[TEMPLATE_PATH_MAX];
    uint64_t number;
    for (uint64_t id = 0; id < (template_is_numbered(a) ? TRIED : 1); id++) {
        template_name(a, id, path);
        if (gives(b, place_of(path).base, &number))
            return same_folder(place_of(path).folder, place_of(b->text).folder);
    }
    return false;
}

enum status outputs_check_names(const struct outputs *o, struct error *e)
{
    for (int i = 0; i < o->count; i++)
        for (int k = 0; k < o->count; k++)
            if (k != i && share_a_name(&o->all[i].name, &o->all[k].name))
                return error_set(e, STATUS_USAGE,
                                 "'%.60s' and '%.60s' name the same files; give two different "
                                 "templates",
                                 o->all[i].name.text, o->all[k].name.text);
    return STATUS_OK;
}

/* --- files --------------------------------------------------------------- */

/* Returns true if writing to `path` would destroy something.  A device is written in place, and an
 * empty file has nothing to lose. */
static bool is_taken(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 &&
           (stat(path, &st) != 0 || S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && st.st_size));
}

/* Adds the numbers whose files exist to *numbers; 0 for a template without a number. */
static enum status find_taken(const struct template *t, struct id_set *numbers, struct error *e)
{
    char path[TEMPLATE_PATH_MAX];
    struct id_set there = {0};
    bool noted = template_is_numbered(t) ? template_list(t, &there)
                                         : !is_taken(t->text) || id_set_add(numbers, 0);
    for (size_t i = 0; i < there.count && noted; i++)
        for (uint64_t n = there.ranges[i].first; n <= there.ranges[i].last && noted; n++) {
            template_name(t, n, path);
            noted = !is_taken(path) || id_set_add(numbers, n);
        }
    id_set_clear(&there);
    return noted ? STATUS_OK : error_memory(e, "a list of files");
}

enum status taken_find(struct taken *t, const struct outputs *o, struct error *e)
{
    *t = (struct taken){0};
    enum status s = o->series ? find_taken(&o->series->series.data, &t->numbers[0], e) : STATUS_OK;
    for (int i = 0; i < o->count && s == STATUS_OK; i++)
        s = find_taken(&o->all[i].name, &t->numbers[1 + i], e);
    return s;
}

/* Fails if a file exists with one of the numbers first to first + count - 1. */
static enum status check_taken(const struct id_set *numbers, const struct template *t,
                               uint64_t first, uint64_t count, struct error *e)
{
    char path[TEMPLATE_PATH_MAX];
    for (size_t i = 0; i < numbers->count; i++) {
        const struct id_range *range = &numbers->ranges[i];
        const uint64_t least = range->first > first ? range->first : first;
        if (least <= range->last && least - first < count) {
            template_name(t, least, path);
            return replace_refuse(path, e);
        }
    }
    return STATUS_OK;
}

enum status taken_check(const struct taken *t, const struct outputs *o, uint64_t frames,
                        struct error *e)
{
    const struct nxmx_series *series = o->series ? &o->series->series : NULL;
    enum status s = STATUS_OK;
    if (series)
        s = check_taken(&t->numbers[0], &series->data, 1, nxmx_series_files(series, frames), e);
    for (int i = 0; i < o->count && s == STATUS_OK; i++)
        s = check_taken(&t->numbers[1 + i], &o->all[i].name, 0, frames, e);
    return s;
}

void taken_free(struct taken *t)
{
    for (size_t i = 0; i < sizeof t->numbers / sizeof *t->numbers; i++)
        id_set_clear(&t->numbers[i]);
}
