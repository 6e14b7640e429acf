#include "score/results.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "io/nxmx/nxmx.h"
#include "score/lines.h"

/* --- which files belong together ------------------------------------------------- */

static bool ends_with(const char *path, const char *ending)
{
    const size_t length = strlen(path), n = strlen(ending);
    return length > n && strcmp(path + length - n, ending) == 0;
}

/* Returns the name `path` with another extension of five characters.  The caller must free it. */
static char *sibling(const char *path, const char *ending)
{
    return mem_text("%.*s%s", (int)strlen(path) - 5, path, ending);
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
    if (exists(list)) {
        files->expt = files->made = list;
        return STATUS_OK;
    }
    const enum status s = last ? STATUS_OK
                               : error_set(e, STATUS_INPUT,
                                           "%s: the experiment list is missing; expected %s, or "
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
        s = error_set(e, STATUS_INPUT, "%s: the reflection table (.refl) is missing", unused);
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
    return dials_open(files->found, files->expt, files->path, e);
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

uint64_t results_number(struct results_numbers *n, const struct answer *a)
{
    char history[EXPERIMENT_HISTORY_SIZE];
    struct error nothing = {0};
    if (a->has_frame)
        return a->frame;
    if (strcmp(n->file, a->file) != 0) {
        memcpy(n->file, a->file, sizeof n->file);
        nxmx_rows_free(&n->rows);
        if (nxmx_read_truth(a->file, history, &n->rows, &nothing))
            nxmx_rows_free(&n->rows);
    }
    return a->event < n->rows.nframes ? n->rows.frames[a->event].number : a->event;
}

void results_numbers_free(struct results_numbers *n)
{
    nxmx_rows_free(&n->rows);
    *n = (struct results_numbers){0};
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

/* --- a folder: scanning ------------------------------------------------------------- */

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

static void add_file(struct results_folder *f, const char *path)
{
    f->files = mem_grow(f->files, f->count, 1, sizeof *f->files, &f->room);
    f->files[f->count++] = (struct results_folder_file){
        .path = mem_text("%s", path),
        .expt = ends_with(path, ".refl") ? sibling(path, ".expt") : NULL};
}

/* Adds new files of the folder to the list. */
static enum status find_new(struct results_folder *f, struct error *e)
{
    const size_t known = f->count;
    char path[PATH_SIZE];
    DIR *in = opendir(f->path);
    if (!in)
        return error_errno(e, STATUS_INPUT, "%s: cannot read", f->path);
    for (const struct dirent *d = readdir(in); d; d = readdir(in)) {
        const struct results_folder_file key = {.path = path};
        if (!is_result(d->d_name) ||
            snprintf(path, sizeof path, "%s/%s", f->path, d->d_name) >= (int)sizeof path)
            continue;
        if (!known || !bsearch(&key, f->files, known, sizeof key, by_path))
            add_file(f, path);
    }
    (void)closedir(in);
    if (f->count > known)
        qsort(f->files, f->count, sizeof *f->files, by_path);
    return STATUS_OK;
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
static enum status scan_folder(struct results_folder *f, struct error *e)
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

/* --- a folder: the next complete file ----------------------------------------------- */

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
            return error_set(e, STATUS_INPUT, "%s: the experiment list is missing; expected %s",
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
        const enum status s = scan_folder(f, e);
        if (s)
            return s;
    }
    if (!next)
        return check_end(f, e);
    next->taken = *more = true;
    *files = (struct results_files){.path = next->path, .expt = next->expt};
    return STATUS_OK;
}

enum { UNTITLED_COLUMNS = 4 };  // without a title line: frame, fast, slow, intensity
enum { FRAME, PANEL, FAST, SLOW, INTENSITY, HIT, TIME, SCORE, DAMAGED };
static const char *const names[PEAK_COLUMNS] = {"frame", "panel",  "fast",  "slow",   "intensity",
                                                "hit",   "time_s", "score", "damaged"};

/* Checks the names of columns.  Unknown columns are allowed, because they belong to other programs.
 * A name that occurs twice, or a known name in capitals, is an error. */
static enum status check_title(const struct peak_table *t, char *const words[], int n,
                               struct error *e)
{
    for (int i = 0; i < n; i++)
        for (int c = 0; c < PEAK_COLUMNS; c++) {
            if (strcasecmp(words[i], names[c]) != 0)
                continue;
            if (strcmp(words[i], names[c]) != 0)
                return lines_fail(&t->lines, e, "the column '%.40s' is unknown; expected '%s'",
                                  words[i], names[c]);
            if (t->at[c] != i)
                return lines_fail(&t->lines, e, "column %s occurs twice; expected each column once",
                                  names[c]);
        }
    return STATUS_OK;
}

/* Reads the next line that is not empty.  Returns false at the end. */
static bool next_line(struct peak_table *t)
{
    while (!t->waiting && lines_next(&t->lines))
        t->waiting = t->lines.line[strspn(t->lines.line, " \t\r")] &&
                     t->lines.line[strspn(t->lines.line, " \t\r")] != '#';
    return t->waiting;
}

static enum status read_title(struct peak_table *t, struct error *e)
{
    static const int untitled[PEAK_COLUMNS] = {0, -1, 1, 2, 3, -1, -1, -1, -1};
    char *words[ITEMS_MAX];
    memcpy(t->at, untitled, sizeof t->at);
    t->columns = UNTITLED_COLUMNS;
    if (!next_line(t))
        return t->lines.half_line ? lines_end_early(&t->lines, "its first line", e) : STATUS_OK;
    if (strspn(t->lines.line, " \t0123456789") > strspn(t->lines.line, " \t"))
        return STATUS_OK;
    const int n = items_split(t->lines.line, words);
    t->waiting = false;
    t->columns = n;
    for (int c = 0; c < PEAK_COLUMNS; c++)
        t->at[c] = items_find(words, n, names[c]);
    const enum status s = check_title(t, words, n, e);
    if (s)
        return s;
    if (n < 0 || t->at[FRAME] < 0 || (t->at[FAST] < 0) != (t->at[SLOW] < 0))
        return lines_fail(&t->lines, e,
                          "not a peak table; expected names of columns in the first line: frame, "
                          "and fast and slow together");
    return STATUS_OK;
}

enum status peak_table_open(struct peak_table *t, const char *path, const struct follow *follow,
                            struct error *e)
{
    *t = (struct peak_table){0};
    const enum status s = lines_open(&t->lines, path, FILETYPE_PEAKS, follow, e);
    return s ? s : read_title(t, e);
}

/* Returns true if the column exists and the line has a value in it. */
static bool has_value(const struct peak_table *t, char *const words[], int column)
{
    return t->at[column] >= 0 && strcmp(words[t->at[column]], "-") != 0;
}

/* Reads a number in [min, max].  *value stays unchanged if the column is missing. */
static enum status read_number(const struct peak_table *t, char *const words[], int column,
                               bool whole, double min, double max, double *value, struct error *e)
{
    if (!has_value(t, words, column))
        return STATUS_OK;
    const char *text = words[t->at[column]], *end;
    *value = number_real(text, &end);
    if (end != text && !*end && *value >= min && *value <= max &&
        (!whole || *value == floor(*value)))
        return STATUS_OK;
    return lines_fail(&t->lines, e, "%s is '%.40s'; expected a %snumber from %g to %g",
                      names[column], text, whole ? "whole " : "", min, max);
}

static enum status take_line(struct peak_table *t, char *const words[], struct answer *a,
                             struct error *e)
{
    double panel = 0.0, fast = 0.0, slow = 0.0, intensity = 0.0, hit = -1.0, damaged = 0.0;
    enum status s = read_number(t, words, PANEL, true, 0.0, INT32_MAX, &panel, e);
    s = s ? s : read_number(t, words, FAST, false, -1e6, 1e6, &fast, e);
    s = s ? s : read_number(t, words, SLOW, false, -1e6, 1e6, &slow, e);
    s = s ? s : read_number(t, words, INTENSITY, false, -1e30, 1e30, &intensity, e);
    s = s ? s : read_number(t, words, HIT, true, 0.0, 1.0, &hit, e);
    s = s ? s : read_number(t, words, TIME, false, 0.0, 1e12, &a->time_s, e);
    s = s ? s : read_number(t, words, SCORE, false, -1e300, 1e300, &a->score, e);
    s = s ? s : read_number(t, words, DAMAGED, true, 0.0, 1.0, &damaged, e);
    if (s)
        return s;
    a->damaged = damaged == 1.0;
    if (!has_value(t, words, TIME))
        a->time_s = lines_now(&t->lines);
    a->has_score = has_value(t, words, SCORE);
    a->says_hit = hit >= 0.0;
    a->hit = hit == 1.0;
    if (!has_value(t, words, FAST) || !has_value(t, words, SLOW))
        return STATUS_OK;
    struct answer_spot *spot = answer_add_spot(a);
    *spot = (struct answer_spot){(int32_t)panel, fast, slow, intensity};
    return STATUS_OK;
}

/* Reads the frame number of the line. */
static enum status read_frame(const struct peak_table *t, uint64_t *frame, struct error *e)
{
    const char *text = t->lines.line, *end;
    for (int i = 0; i < t->at[FRAME]; i++) {
        text += strspn(text, " \t");
        text += strcspn(text, " \t");
    }
    text += strspn(text, " \t");
    const intmax_t x = number_whole(text, &end);
    *frame = (uint64_t)x;
    if (end != text && x >= 0 && strchr(" \t\r#", *end))
        return STATUS_OK;
    return lines_fail(&t->lines, e, "'%.40s' is not a frame number", text);
}

enum status peak_table_next(struct peak_table *t, struct answer *a, bool *more, struct error *e)
{
    enum status s = STATUS_OK;
    answer_clear(a);
    *more = false;
    while (!s && next_line(t)) {
        char *words[ITEMS_MAX];
        uint64_t frame;
        s = read_frame(t, &frame, e);
        if (s || (*more && frame != a->frame))
            return s;
        if (!*more)
            a->line = t->lines.number;
        *more = a->has_frame = true;
        a->frame = frame;
        const int n = items_split(t->lines.line, words);
        t->waiting = false;
        for (int c = 0; c < PEAK_COLUMNS && !s; c++)
            if (n < 0 || t->at[c] >= n)
                s = lines_fail(&t->lines, e, "has %d items; %s is missing", n, names[c]);
        if (!s && n > t->columns)
            s = lines_fail(&t->lines, e,
                           "has %d items; expected %d, with points in numbers as in 1.5", n,
                           t->columns);
        s = s ? s : take_line(t, words, a, e);
        if (t->at[FAST] < 0)
            return s;  // without columns of places, each line is an answer
    }
    if (!s && (t->lines.half_line || ferror(t->lines.in)))
        s = lines_end_early(&t->lines, "a line", e);
    return s;
}

void peak_table_close(struct peak_table *t)
{
    lines_close(&t->lines);
}
