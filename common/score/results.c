#include "score/results.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/hash.h"

/* --- which files belong together ------------------------------------------------- */

static bool ends_with(const char *path, const char *ending)
{
    const size_t length = strlen(path), n = strlen(ending);
    return length > n && strcmp(path + length - n, ending) == 0;
}

/* Returns the name `path` with another extension of five characters.  The caller must free it.
 * Returns NULL if memory runs out. */
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

/* Finds the experiment list of a table. */
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
                                           "%s: its experiment list is missing; expected %s, or "
                                           "another list named before this file",
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
                files[(*count)++] =
                    (struct results_files){.path = table, .expt = paths[i], .made = table};
            } else {
                unused = paths[i];
                free(table);
            }
        } else {
            files[(*count)++] = (struct results_files){.path = paths[i]};
        }
    }
    if (!s && unused)
        s = error_set(e, STATUS_INPUT, "%s: its reflection table (.refl) is missing", unused);
    return s;
}

void results_unpair(struct results_files files[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(files[i].made);
        if (files[i].found)
            dials_close(files[i].found);
        mem_free(files[i].found);
    }
}

/* --- tables of several levels ------------------------------------------------------ */

static enum status open_found(struct results_files *files, struct error *e)
{
    files->found = mem_array(1, sizeof *files->found);
    return files->found ? dials_open(files->found, files->expt, files->path, e)
                        : error_memory(e, files->path);
}

/* Checks that the panels of two tables have the same sizes. */
static enum status check_detectors(const struct dials_files *a, const struct dials_files *b,
                                   struct error *e)
{
    const struct expt *x = &a->list.setup, *y = &b->list.setup;
    bool same = x->npanels == y->npanels;
    for (size_t i = 0; i < x->npanels && same; i++)
        same = x->panels[i].fast_pixels == y->panels[i].fast_pixels &&
               x->panels[i].slow_pixels == y->panels[i].slow_pixels;
    return same ? STATUS_OK
                : error_set(e, STATUS_INPUT,
                            "%s and %s: the detectors have different panels; expected tables of "
                            "one detector",
                            a->refl_path, b->refl_path);
}

enum status results_join(struct results_files files[], size_t count, struct error *e)
{
    enum dials_level highest = DIALS_FOUND;
    size_t tables = 0;
    enum status s = STATUS_OK;
    for (size_t i = 0; i < count; i++) {
        files[i].level = DIALS_INTEGRATED;
        tables += files[i].expt != NULL;
    }
    for (size_t i = 0; i < count && tables > 1 && !s; i++) {
        s = files[i].expt ? dials_level_read(files[i].path, &files[i].level, e) : STATUS_OK;
        highest = files[i].expt && files[i].level > highest ? files[i].level : highest;
    }
    for (size_t i = 0; i < count && tables > 1 && !s; i++)
        if (files[i].expt && files[i].level < highest)
            s = open_found(&files[i], e);
    return s;
}

enum status results_take_found(const struct results_files files[], size_t count,
                               const struct results *r, struct answer *a, struct error *e)
{
    const struct dials_files *taken = NULL;
    enum status s = STATUS_OK;
    for (int level = DIALS_FOUND; level < (int)r->level && r->kind == RESULTS_DIALS; level++) {
        const struct dials_files *here = NULL;
        for (size_t i = 0; i < count && !s; i++) {
            struct dials_files *f = files[i].found;
            bool has = false;
            if (!f || (int)files[i].level != level)
                continue;
            s = check_detectors(f, r->table, e);
            s = s ? s : dials_take_spots(f, a, !taken, &has, e);
            if (!s && has && here)
                s = error_set(e, STATUS_INPUT, "%s and %s contain the same frame; expected one",
                              here->refl_path, f->refl_path);
            here = has ? f : here;
            taken = has ? f : taken;
        }
    }
    return s;
}

/* --- reading ----------------------------------------------------------------------- */

enum status results_open(struct results *r, const struct results_files *files,
                         const struct follow *follow, struct error *e)
{
    *r = (struct results){.path = files->path, .level = files->level};
    if (files->found) {
        r->kind = RESULTS_DIALS;
        r->table = files->found;
        return STATUS_OK;
    }
    if (files->expt) {
        r->kind = RESULTS_DIALS;
        r->table = &r->dials;
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
        return dials_next(r->table, a, more, e);
    if (r->kind == RESULTS_PEAKS)
        return peak_table_next(&r->peaks, a, more, e);
    return crystfel_stream_next(&r->stream, a, more, e);
}

const struct geom_panel *results_panels(const struct results *r, size_t *count)
{
    *count = 0;
    if (r->kind == RESULTS_PEAKS)
        return NULL;
    *count = r->kind == RESULTS_DIALS ? r->table->list.setup.npanels : r->stream.detector.npanels;
    return r->kind == RESULTS_DIALS ? r->table->panels : r->stream.detector.panels;
}

bool results_of_rotation(const struct results *r)
{
    return r->kind == RESULTS_DIALS && r->table->list.count &&
           r->table->list.items->scan.images > 0;
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

/* --- a folder ------------------------------------------------------------------------ */

enum { PATH_SIZE = 4096 };
static const uint64_t SETTLED_NS = 1000000000, LOOK_NS = 50000000;

static bool is_result(const char *name)
{
    return *name != '.' && (ends_with(name, ".refl") || ends_with(name, ".stream") ||
                            ends_with(name, ".tsv") || ends_with(name, ".txt"));
}

bool results_folder_is(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

void results_folder_open(struct results_folder *f, const char *path, const struct follow *follow)
{
    *f = (struct results_folder){.path = path, .follow = follow, .changed_ns = clock_ns()};
}

void results_folder_close(struct results_folder *f)
{
    for (size_t i = 0; i < f->count; i++) {
        free(f->files[i].path);
        free(f->files[i].expt);
    }
    mem_free(f->files);
    *f = (struct results_folder){0};
}

/* --- looking ------------------------------------------------------------------------ */

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct results_folder_file *)a)->path,
                  ((const struct results_folder_file *)b)->path);
}

/* Returns a hash of the present size and modification time of a file, continued from `hash`.
 * Returns 0 if the file does not exist. */
static uint64_t stamp_of(uint64_t hash, const char *path)
{
    struct stat st;
    if (stat(path, &st))
        return 0;
    const int64_t what[3] = {(int64_t)st.st_size, (int64_t)st.st_mtim.tv_sec,
                             (int64_t)st.st_mtim.tv_nsec};
    return hash_finish(hash_bytes(hash, what, sizeof what)) | 1;
}

static enum status add_file(struct results_folder *f, const char *path, struct error *e)
{
    struct results_folder_file *grown = mem_grow(f->files, f->count, 1, sizeof *grown, &f->room);
    f->files = grown ? grown : f->files;
    struct results_folder_file file = {.path = strdup(path)};
    if (grown && file.path && ends_with(path, ".refl") && (file.expt = strdup(path)))
        memcpy(file.expt + strlen(path) - 5, ".expt", 5);
    if (!grown || !file.path || (ends_with(path, ".refl") && !file.expt)) {
        free(file.path);
        return error_memory(e, f->path);
    }
    f->files[f->count++] = file;
    return STATUS_OK;
}

/* Adds new files of the folder to the list. */
static enum status find_new(struct results_folder *f, struct error *e)
{
    const size_t known = f->count;
    char path[PATH_SIZE];
    enum status s = STATUS_OK;
    DIR *in = opendir(f->path);
    if (!in)
        return error_errno(e, STATUS_INPUT, "%s: cannot read", f->path);
    for (const struct dirent *d = readdir(in); d && !s; d = readdir(in)) {
        const struct results_folder_file key = {.path = path};
        if (!is_result(d->d_name) ||
            snprintf(path, sizeof path, "%s/%s", f->path, d->d_name) >= (int)sizeof path)
            continue;
        if (!known || !bsearch(&key, f->files, known, sizeof key, by_path))
            s = add_file(f, path, e);
    }
    (void)closedir(in);
    if (f->count > known)
        qsort(f->files, f->count, sizeof *f->files, by_path);
    return s;
}

static void look_at(struct results_folder *f, struct results_folder_file *file, uint64_t now_ns)
{
    uint64_t stamp = stamp_of(HASH_START, file->path);
    if (stamp && file->expt)
        stamp = stamp_of(stamp, file->expt);
    if (stamp == file->stamp)
        return;
    file->stamp = stamp;
    file->since_ns = f->changed_ns = now_ns;
}

static bool is_ready(const struct results_folder *f, const struct results_folder_file *file,
                     uint64_t now_ns)
{
    const bool settled =
        !f->follow || f->ending ||
        (now_ns - file->since_ns >= SETTLED_NS && !ends_with(file->path, ".stream"));
    return !file->taken && file->stamp && settled;
}

/* Scans the folder for new and changed files.  The files that are ready then are offered one by
 * one. */
static enum status look(struct results_folder *f, struct error *e)
{
    const enum status s = find_new(f, e);
    const uint64_t now_ns = clock_ns();
    for (size_t i = 0; i < f->count && !s; i++)
        if (!f->files[i].taken)
            look_at(f, &f->files[i], now_ns);
    f->looked_ns = now_ns;
    f->next = 0;
    return s;
}

/* --- giving ------------------------------------------------------------------------- */

/* Returns the next file that was ready at the latest scan; NULL: none. */
static struct results_folder_file *next_ready(struct results_folder *f)
{
    while (f->next < f->count) {
        struct results_folder_file *file = &f->files[f->next++];
        if (is_ready(f, file, f->looked_ns))
            return file;
    }
    return NULL;
}

static enum status check_end(const struct results_folder *f, struct error *e)
{
    if (!f->count)
        return error_set(
            e, STATUS_INPUT,
            "%s: no results found; expected files that end in .refl, .stream, .tsv or .txt",
            f->path);
    for (size_t i = 0; i < f->count; i++)
        if (!f->files[i].taken && f->files[i].expt)
            return error_set(e, STATUS_INPUT, "%s: its experiment list is missing; expected %s",
                             f->files[i].path, f->files[i].expt);
    return STATUS_OK;
}

/* Waits a short time for new files.  Returns false if the wait for files is over. */
static bool wait(struct results_folder *f)
{
    const struct timespec pause = {.tv_nsec = (long)LOOK_NS};
    if (!f->follow || f->ending)
        return false;
    f->ending = f->follow->done(f->follow->of) ||
                (double)(clock_ns() - f->changed_ns) > 1e9 * f->follow->seconds;
    if (!f->ending)
        (void)nanosleep(&pause, NULL);
    return true;
}

enum status results_folder_next(struct results_folder *f, struct results_files *files, bool *more,
                                struct error *e)
{
    struct results_folder_file *next;
    *more = false;
    while (!(next = next_ready(f)) && (!f->looked_ns || wait(f))) {
        const enum status s = look(f, e);
        if (s)
            return s;
    }
    if (!next)
        return check_end(f, e);
    next->taken = *more = true;
    *files = (struct results_files){.path = next->path, .expt = next->expt};
    return STATUS_OK;
}
