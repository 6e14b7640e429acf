#include "score/results.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"

/* --- which files belong together ------------------------------------------------- */

static bool ends_with(const char *path, const char *ending)
{
    const size_t length = strlen(path), n = strlen(ending);
    return length > n && strcmp(path + length - n, ending) == 0;
}

/* The same name with another ending of five characters; NULL when memory is out. */
static char *sibling(const char *path, const char *ending)
{
    char *name = strdup(path);
    if (name)
        memcpy(name + strlen(name) - 5, ending, 5);
    return name;
}

static bool exists(const char *path)
{
    const char *at = input_path(path);
    return at && access(at, F_OK) == 0;
}

static bool is_named(const char *const paths[], size_t npaths, const char *path)
{
    for (size_t i = 0; i < npaths; i++)
        if (strcmp(paths[i], path) == 0)
            return true;
    return false;
}

/* The list that a table goes with. */
static enum status pair_table(const char *path, const char *last, struct results_files *files,
                              struct error *e)
{
    char *list = sibling(path, ".expt");
    *files = (struct results_files){.path = path, .expt = last};
    if (!list)
        return error_memory(e, path);
    if (exists(list)) {
        files->expt = files->made = list;
        return STATUS_OK;
    }
    const enum status s = last ? STATUS_OK
                               : error_set(e, STATUS_INPUT,
                                           "%s: needs its experiment list, %s, or another named "
                                           "before it",
                                           path, list);
    free(list);
    return s;
}

enum status results_pair(const char *const paths[], size_t npaths, struct results_files files[],
                         size_t *count, struct error *e)
{
    const char *last = NULL, *unused = NULL;
    enum status s = STATUS_OK;
    *count = 0;
    for (size_t i = 0; i < npaths && !s; i++) {
        if (ends_with(paths[i], ".refl")) {
            s = pair_table(paths[i], last, &files[*count], e);
            unused = files[(*count)++].expt == last ? NULL : unused;
        } else if (ends_with(paths[i], ".expt")) {
            char *table = sibling(paths[i], ".refl");
            if (!table)
                return error_memory(e, paths[i]);
            last = paths[i];
            if (is_named(paths, npaths, table)) {
                free(table);
            } else if (exists(table)) {
                files[(*count)++] = (struct results_files){table, paths[i], table};
            } else {
                unused = paths[i];
                free(table);
            }
        } else {
            files[(*count)++] = (struct results_files){.path = paths[i]};
        }
    }
    if (!s && unused)
        s = error_set(e, STATUS_INPUT, "%s: needs its reflection table (.refl)", unused);
    return s;
}

void results_unpair(struct results_files files[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(files[i].made);
}

/* --- reading ----------------------------------------------------------------------- */

enum status results_open(struct results *r, const struct results_files *files,
                         const struct follow *follow, struct error *e)
{
    *r = (struct results){.path = files->path};
    if (files->expt) {
        r->kind = RESULTS_DIALS;
        return dials_open(&r->dials, files->expt, files->path, e);
    }
    if (ends_with(files->path, ".tsv") || ends_with(files->path, ".txt")) {
        r->kind = RESULTS_PEAKS;
        return peak_table_open(&r->peaks, files->path, follow, e);
    }
    return crystfel_stream_open(&r->stream, files->path, follow, e);
}

enum status results_next(struct results *r, struct answer *a, bool *more, struct error *e)
{
    if (r->kind == RESULTS_DIALS)
        return dials_next(&r->dials, a, more, e);
    if (r->kind == RESULTS_PEAKS)
        return peak_table_next(&r->peaks, a, more, e);
    return crystfel_stream_next(&r->stream, a, more, e);
}

const struct geom_panel *results_panels(const struct results *r, size_t *count)
{
    *count = 0;
    if (r->kind == RESULTS_PEAKS)
        return NULL;
    *count = r->kind == RESULTS_DIALS ? r->dials.list.setup.npanels : r->stream.detector.npanels;
    return r->kind == RESULTS_DIALS ? r->dials.panels : r->stream.detector.panels;
}

bool results_of_rotation(const struct results *r)
{
    return r->kind == RESULTS_DIALS && r->dials.list.count && r->dials.list.items->scan.images > 0;
}

void results_close(struct results *r)
{
    if (r->kind == RESULTS_DIALS)
        dials_close(&r->dials);
    else if (r->kind == RESULTS_PEAKS)
        peak_table_close(&r->peaks);
    else
        crystfel_stream_close(&r->stream);
}
