/* The filewriter of the simulated detector: files of a series, and requests for them over HTTP. */
#include "eiger.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/files.h"
#include "base/log.h"
#include "run/pipeline/find_program.h"
#include "run/pipeline/pipeline.h"

enum { NAME_SIZE = 256 };

/* Ending of a table with the ground truth of a series. */
#define TRUTH "_truth.tsv"

enum status files_open(struct eiger_files *f, const char *parent, struct error *e)
{
    (void)snprintf(f->folder, sizeof f->folder, "%.4000s/files", parent);
    if (mkdir(f->folder, 0700) == 0)
        return STATUS_OK;
    const enum status s =
        error_errno(e, STATUS_FAILED, "%.400s: cannot make the folder", f->folder);
    f->folder[0] = '\0';
    return s;
}

/* --- the stage that writes ------------------------------------------------------- */

/* Writes the name of the folder in which bragg-write makes the files of a series.  Clients cannot
 * reach it, because a master file is readable, but has few images, before the series ends. */
static void name_folder(const struct eiger_files *f, uint64_t run, char *path, size_t size)
{
    (void)snprintf(path, size, "%.4000s/.%" PRIu64, f->folder, run);
}

enum status files_begin(const struct eiger_files *f, uint64_t run, struct error *e)
{
    char folder[PATH_MAX];
    name_folder(f, run, folder, sizeof folder);
    return mkdir(folder, 0700) == 0
               ? STATUS_OK
               : error_errno(e, STATUS_FAILED, "%.400s: cannot make the folder", folder);
}

void files_name_truth(const struct eiger_files *f, uint64_t number, uint64_t run, char *path,
                      size_t size)
{
    char folder[PATH_MAX];
    name_folder(f, run, folder, sizeof folder);
    (void)snprintf(path, size, "%s/series_%" PRIu64 TRUTH, run ? folder : f->folder, number);
}

/* Writes the name of the series: name_pattern with the number for $id. */
static void name_series(const struct eiger_keys *keys, uint64_t number, char *name, size_t size)
{
    const char *pattern = keys_text(keys, "filewriter:config:name_pattern");
    const char *id = strstr(pattern, "$id");
    if (id)
        (void)snprintf(name, size, "%.*s%" PRIu64 "%s", (int)(id - pattern), pattern, number,
                       id + strlen("$id"));
    else
        (void)snprintf(name, size, "%s", pattern);
}

/* Finds the stage that feeds the stage serve of a pipeline file. */
static enum status find_input(const char *path, char input[PIPELINE_NAME_SIZE], struct error *e)
{
    struct pipeline p = {0};
    enum status s = pipeline_load(&p, path, e);
    const struct pipeline_stage *serve = s ? NULL : pipeline_find(&p, "serve", strlen("serve"));
    if (!s && (!serve || serve->input < 0))
        s = error_set(e, STATUS_INPUT, "%.400s: the pipeline has no stage serve with an input",
                      path);
    if (!s)
        (void)snprintf(input, PIPELINE_NAME_SIZE, "%s", p.stages[serve->input].name);
    pipeline_close(&p);
    return s;
}

/* Writes the lines of the new stage.  One process writes, so that the first file has the first
 * images, as that of a real detector.  The name of the series has no quote and no backslash. */
static void put_stage(FILE *to, const char *folder, const struct eiger_keys *keys,
                      const char *input, const char *series)
{
    const bool packs = keys_bool(keys, "filewriter:config:compression_enabled");
    (void)fprintf(to,
                  "\n  - name: write\n    input: %s\n    count: 1\n    args: ['%s/%s_master.h5', "
                  "--frames-per-file=%" PRIu64 ", --compression=%s]\n",
                  input, folder, series, keys_uint(keys, "filewriter:config:nimages_per_file"),
                  packs ? keys_text(keys, "compression") : "none");
}

enum status files_add_stage(const struct eiger_files *f, const struct eiger_keys *keys,
                            const char *pipeline, uint64_t number, uint64_t run, const char *path,
                            struct error *e)
{
    char input[PIPELINE_NAME_SIZE], series[NAME_SIZE], folder[PATH_MAX], line[4096];
    char *shipped = program_pipeline(pipeline);
    const char *source = shipped ? shipped : pipeline;
    enum status s = find_input(source, input, e);
    FILE *from = s ? NULL : fopen(source, "re"), *to = from ? fopen(path, "we") : NULL;
    if (!s && !from)
        s = error_errno(e, STATUS_FAILED, "%.400s: cannot open the file", source);
    else if (!s && !to)
        s = error_errno(e, STATUS_FAILED, "%.400s: cannot make the file", path);
    while (to && fgets(line, sizeof line, from))
        (void)fputs(line, to);
    name_series(keys, number, series, sizeof series);
    name_folder(f, run, folder, sizeof folder);
    if (to)
        put_stage(to, folder, keys, input, series);
    if (to && fclose(to) != 0)
        s = error_errno(e, STATUS_FAILED, "%.400s: cannot write the file", path);
    if (from)
        (void)fclose(from);
    mem_free(shipped);
    return s;
}

/* --- the files ------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *ending)
{
    const size_t n = strlen(name), tail = strlen(ending);
    return n > tail && strcmp(name + n - tail, ending) == 0;
}

/* Returns true if a name is that of a file for clients: a master file, a file with images, or a
 * table.  Files that are not complete have other endings. */
static bool is_complete(const char *name)
{
    return strlen(name) < NAME_SIZE && name[0] != '.' && !strchr(name, '/') &&
           (ends_with(name, ".h5") || ends_with(name, TRUTH));
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int select_complete(const struct dirent *d)
{
    return is_complete(d->d_name);
}

/* Lists the names of the files for clients in *entries, which the caller frees with its items.
 * Returns their number. */
static int scan_files(const char *folder, struct dirent ***entries)
{
    const int n = scandir(folder, entries, select_complete, compare_names);
    return n > 0 ? n : 0;
}

void files_collect(const struct eiger_files *f, uint64_t run)
{
    struct dirent **entries = NULL;
    char folder[PATH_MAX], from[PATH_MAX + NAME_SIZE], to[PATH_MAX + NAME_SIZE];
    name_folder(f, run, folder, sizeof folder);
    const int n = scan_files(folder, &entries);
    for (int i = 0; i < n; i++) {
        (void)snprintf(from, sizeof from, "%s/%s", folder, entries[i]->d_name);
        (void)snprintf(to, sizeof to, "%s/%s", f->folder, entries[i]->d_name);
        if (rename(from, to) != 0)
            log_line(LOG_WARNING, "%.400s: cannot move the file: %s", from, strerror(errno));
        free(entries[i]);
    }
    free(entries);
    folder_remove(folder);
}

void files_list(const struct eiger_files *f, struct eiger_keys *keys)
{
    struct dirent **entries = NULL;
    json_t *list = json_array();
    const int n = scan_files(f->folder, &entries);
    for (int i = 0; i < n; i++) {
        if (ends_with(entries[i]->d_name, ".h5"))
            (void)json_array_append_new(list, json_string(entries[i]->d_name));
        free(entries[i]);
    }
    free(entries);
    keys_set(keys, "filewriter:status:files", list);
}

void files_clear(const struct eiger_files *f)
{
    struct dirent **entries = NULL;
    char path[PATH_MAX + NAME_SIZE];
    const int n = scan_files(f->folder, &entries);
    for (int i = 0; i < n; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", f->folder, entries[i]->d_name);
        (void)unlink(path);
        free(entries[i]);
    }
    free(entries);
}

bool files_answer(const struct eiger_files *f, const struct http_request *request, const char *name,
                  struct http_reply *reply)
{
    char path[PATH_MAX + NAME_SIZE];
    struct stat facts;
    if (!is_complete(name))
        return false;
    (void)snprintf(path, sizeof path, "%s/%s", f->folder, name);
    if (strcmp(request->method, "DELETE") == 0) {
        reply->code = 204;
        return unlink(path) == 0;
    }
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return false;
    if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        (void)close(file);
        return false;
    }
    reply->type = ends_with(name, TRUTH) ? "text/tab-separated-values" : "application/x-hdf5";
    reply->file = file;
    reply->size = (size_t)facts.st_size;
    return true;
}
