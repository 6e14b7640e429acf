#include "run/find.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stage/endpoint.h"

static const char workdir_link[] = "workdir", control_link[] = "control-at";

/* A live socket of this user becomes an endpoint. */
static bool is_source(const char *path, char endpoint[ENDPOINT_SIZE])
{
    struct stat what;
    if (lstat(path, &what) != 0 || !S_ISSOCK(what.st_mode) || what.st_uid != getuid() ||
        snprintf(endpoint, ENDPOINT_SIZE, "ipc://%s", path) >= ENDPOINT_SIZE)
        return false;
    return endpoint_answers(endpoint);
}

/* What this user noted with find_note_control, unless nobody listens there. */
static bool is_noted(const char *folder, char endpoint[ENDPOINT_SIZE])
{
    char path[PATH_MAX], noted[ENDPOINT_SIZE] = "";
    struct stat what;
    bool bind;
    (void)snprintf(path, sizeof path, "%s/%s", folder, control_link);
    return lstat(path, &what) == 0 && what.st_uid == getuid() &&
           readlink(path, noted, sizeof noted - 1) > 0 &&
           endpoint_parse(noted, true, &bind, endpoint, NULL) == STATUS_OK &&
           !endpoint_is_refused(endpoint);
}

bool find_in_folder(const char *folder, char endpoint[ENDPOINT_SIZE])
{
    static const char *const patterns[] = {"control", "bragg-*/control"};
    bool found = false;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns && !found; i++) {
        char pattern[PATH_MAX];
        glob_t paths;
        (void)snprintf(pattern, sizeof pattern, "%s/%s", folder, patterns[i]);
        if (glob(pattern, 0, NULL, &paths) == 0)
            for (size_t k = 0; k < paths.gl_pathc && !found; k++)
                found = is_source(paths.gl_pathv[k], endpoint);
        globfree(&paths);
    }
    return found || is_noted(folder, endpoint);
}

void find_note_control(const char *folder, const char *control)
{
    char endpoint[ENDPOINT_SIZE], path[PATH_MAX];
    bool bind;
    (void)snprintf(path, sizeof path, "%s/%s", folder, control_link);
    if (endpoint_parse(control, true, &bind, endpoint, NULL) == STATUS_OK &&
        endpoint_is_network(endpoint) && !strchr(endpoint, '*'))
        (void)!symlink(endpoint, path);
}

void find_note_workdir(const char *folder, const char *workdir)
{
    char full[PATH_MAX], path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", folder, workdir_link);
    if (realpath(workdir, full))
        (void)!symlink(full, path);
}

/* True when the run in `folder` has this --workdir. */
static bool works_in(const char *folder, const char *workdir)
{
    char wanted[PATH_MAX], path[PATH_MAX], noted[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", folder, workdir_link);
    return realpath(workdir, wanted) && realpath(path, noted) && strcmp(wanted, noted) == 0;
}

struct search {
    const char *workdir;  // NULL: any
    int found;
    char endpoint[ENDPOINT_SIZE];  // the first
    char list[300];                // all, for the message
};

/* All runs with their private folder in `base`. */
static void search_base(struct search *s, const char *base)
{
    char pattern[PATH_MAX];
    glob_t folders;
    (void)snprintf(pattern, sizeof pattern, "%s/bragg-*", base);
    if (glob(pattern, GLOB_ONLYDIR, NULL, &folders) == 0)
        for (size_t i = 0; i < folders.gl_pathc; i++) {
            char endpoint[ENDPOINT_SIZE];
            const char *folder = folders.gl_pathv[i];
            if ((s->workdir && !works_in(folder, s->workdir)) || !find_in_folder(folder, endpoint))
                continue;
            if (!s->found++)
                memcpy(s->endpoint, endpoint, sizeof endpoint);
            const size_t used = strlen(s->list);
            (void)snprintf(s->list + used, sizeof s->list - used, "%s%s", used ? ", " : "", folder);
        }
    globfree(&folders);
}

enum status find_run(const char *where, char endpoint[ENDPOINT_SIZE], struct error *e)
{
    struct search s = {.workdir = where};
    const char *base = getenv("XDG_RUNTIME_DIR");
    struct stat what;
    if (where && strstr(where, "://")) {
        bool bind;
        const enum status bad = endpoint_parse(where, true, &bind, endpoint, e);
        if (bad)
            return bad;
        if (bind)
            return error_set(e, STATUS_USAGE, "'%.120s' must not begin with @", where);
        if (endpoint_answers(endpoint))
            return STATUS_OK;
        return error_set(e, STATUS_FAILED, "nobody listens at %.200s", where);
    }
    if (where && (stat(where, &what) != 0 || !S_ISDIR(what.st_mode)))
        return error_set(e, STATUS_USAGE,
                         "'%.200s' is neither an endpoint (ipc://PATH, tcp://HOST:PORT) nor a "
                         "folder",
                         where);
    if (where && find_in_folder(where, endpoint))
        return STATUS_OK;
    if (base && base[0] == '/' && strcmp(base, "/tmp") != 0)
        search_base(&s, base);
    if (!s.found)
        search_base(&s, "/tmp");
    memcpy(endpoint, s.endpoint, sizeof s.endpoint);
    if (s.found > 1)
        return error_set(e, STATUS_USAGE, "%d pipelines are running: name one of %s", s.found,
                         s.list);
    if (!s.found && where)
        return error_set(e, STATUS_FAILED, "no pipeline is running in %.200s", where);
    return s.found ? STATUS_OK : error_set(e, STATUS_FAILED, "no pipeline is running");
}
