/* Finds running pipelines by their private folders, and requests the status of a run. */
#include "run/local/source_monitor.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/filetype.h"
#include "link/endpoint.h"

static const char workdir_link[] = "workdir", file_link[] = "file", control_link[] = "control-at";

/* Converts the path of a socket into an endpoint.  Returns false if `path` is not a socket of
 * this user, or if no process listens there. */
static bool is_source(const char *path, char endpoint[ENDPOINT_SIZE])
{
    struct stat what;
    if (lstat(path, &what) != 0 || !S_ISSOCK(what.st_mode) || what.st_uid != getuid() ||
        snprintf(endpoint, ENDPOINT_SIZE, "ipc://%s", path) >= ENDPOINT_SIZE)
        return false;
    return endpoint_answers(endpoint);
}

/* Reads the endpoint that find_note_control stored at `path`.  Returns false if there is none,
 * or if no process listens at the endpoint. */
static bool is_noted(const char *path, char endpoint[ENDPOINT_SIZE])
{
    char noted[ENDPOINT_SIZE] = "";
    struct stat what;
    bool bind;
    return lstat(path, &what) == 0 && what.st_uid == getuid() &&
           readlink(path, noted, sizeof noted - 1) > 0 &&
           endpoint_parse(noted, true, &bind, endpoint, NULL) == STATUS_OK &&
           !endpoint_is_refused(endpoint);
}

/* Calls `is_one` for each path in `folder` that matches the pattern `what`, until `is_one`
 * returns true.  Returns false if there is no such path. */
static bool find_path(const char *folder, const char *what,
                      bool (*is_one)(const char *path, char *result), char *result)
{
    char pattern[PATH_MAX];
    glob_t paths;
    bool found = false;
    (void)snprintf(pattern, sizeof pattern, "%s/%s", folder, what);
    if (glob(pattern, 0, NULL, &paths) == 0)
        for (size_t k = 0; k < paths.gl_pathc && !found; k++)
            found = is_one(paths.gl_pathv[k], result);
    globfree(&paths);
    return found;
}

static bool is_keys(const char *path, char *found)
{
    char file[PATH_MAX];
    (void)snprintf(file, sizeof file, "%s/watcher.key_secret", path);
    (void)snprintf(found, PATH_MAX, "%s", path);
    return access(file, R_OK) == 0;
}

bool find_run_keys(const char *where, char path[PATH_MAX])
{
    return find_path(where, "keys", is_keys, path) ||
           find_path(where, "bragg-run-*/keys", is_keys, path);
}

/* Finds the control endpoint of the run with a private folder, which belongs to bragg-run or to
 * a stage in a shell pipe.  Returns false if no process listens at the endpoint (yet). */
static bool find_in_folder(const char *folder, char endpoint[ENDPOINT_SIZE])
{
    return find_path(folder, "control", is_source, endpoint) ||
           find_path(folder, "bragg-*/control", is_source, endpoint) ||
           find_path(folder, control_link, is_noted, endpoint) ||
           find_path(folder, "bragg-run-*/control-at", is_noted, endpoint);
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

static void make_link(const char *folder, const char *link, const char *target)
{
    char full[PATH_MAX], path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", folder, link);
    if (realpath(target, full))
        (void)!symlink(full, path);
}

void find_note_workdir(const char *folder, const char *workdir)
{
    make_link(folder, workdir_link, workdir);
}

void find_note_file(const char *folder, const char *file)
{
    make_link(folder, file_link, file);
}

/* Sets `name` to the name of the pipeline file, without its folder, of the run with the private
 * folder `folder`; "": none is stored. */
static void name_of(const char *folder, char name[FIND_NAME_SIZE])
{
    char path[PATH_MAX], noted[PATH_MAX] = "";
    (void)snprintf(path, sizeof path, "%s/%s", folder, file_link);
    (void)!readlink(path, noted, sizeof noted - 1);
    const char *slash = strrchr(noted, '/');
    (void)snprintf(name, FIND_NAME_SIZE, "%s", slash ? slash + 1 : "");
    for (char *c = name; *c; c++)  // a control character could change the terminal
        *c = *c < ' ' || *c == 0x7f ? '?' : *c;
}

static bool is_noted_as(const char *folder, const char *link, const char *where)
{
    char wanted[PATH_MAX], path[PATH_MAX], noted[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", folder, link);
    return realpath(where, wanted) && realpath(path, noted) && strcmp(wanted, noted) == 0;
}

/* Returns true if `where` means the run with the private folder `folder`.  `where` is the
 * --workdir, the pipeline file, or the name of that file with or without .yaml. */
static bool is_meant(const char *folder, const char *where)
{
    char name[FIND_NAME_SIZE];
    const size_t length = strlen(where);
    name_of(folder, name);
    return is_noted_as(folder, workdir_link, where) || is_noted_as(folder, file_link, where) ||
           (strncmp(name, where, length) == 0 &&
            (!name[length] || strcmp(name + length, ".yaml") == 0));
}

/* Returns true if `path` is the private folder of a bragg-run of this user, and copies the path
 * to `found`.  Such a folder has a link to the pipeline file, which this user owns. */
static bool is_folder(const char *path, char *found)
{
    char file[PATH_MAX];
    struct stat what;
    (void)snprintf(file, sizeof file, "%s/%s", path, file_link);
    (void)snprintf(found, PATH_MAX, "%s", path);
    return lstat(file, &what) == 0 && S_ISLNK(what.st_mode) && what.st_uid == getuid();
}

/* A search for runs in private folders, and its result. */
struct search {
    const char *where;                               // run to be found; NULL: any
    bool (*is_one)(const char *folder, char *what);  // test of a private folder; sets *what
    int found;                                       // number of runs found
    char what[PATH_MAX], name[FIND_NAME_SIZE];       // result and pipeline file of the first one
    char list[300];                                  // names of all runs found, for the error
};

/* Searches the private folders in `base`, and adds the runs that match to *s. */
static void search_base(struct search *s, const char *base)
{
    char pattern[PATH_MAX];
    glob_t folders;
    (void)snprintf(pattern, sizeof pattern, "%s/bragg-*", base);
    if (glob(pattern, GLOB_ONLYDIR, NULL, &folders) == 0)
        for (size_t i = 0; i < folders.gl_pathc; i++) {
            char what[PATH_MAX], name[FIND_NAME_SIZE];
            const char *folder = folders.gl_pathv[i];
            if ((s->where && !is_meant(folder, s->where)) || !s->is_one(folder, what))
                continue;
            name_of(folder, name);
            if (!s->found++) {
                memcpy(s->what, what, sizeof what);
                memcpy(s->name, name, sizeof name);
            }
            const size_t used = strlen(s->list);
            (void)snprintf(s->list + used, sizeof s->list - used, "%s%s%s%s%s", used ? ", " : "",
                           name, *name ? " (" : "", folder, *name ? ")" : "");
        }
    globfree(&folders);
}

/* Searches XDG_RUNTIME_DIR, then /tmp.  Returns the same errors as find_run. */
static enum status search_all(struct search *s, struct error *e)
{
    const char *base = getenv("XDG_RUNTIME_DIR"), *where = s->where;
    struct stat what;
    if (base && base[0] == '/' && strcmp(base, "/tmp") != 0)
        search_base(s, base);
    if (!s->found)
        search_base(s, "/tmp");
    if (s->found > 1)
        return error_set(e, STATUS_USAGE, "%d pipelines are running; give one of these: %s",
                         s->found, s->list);
    if (!s->found && where && stat(where, &what) != 0)
        return error_set(
            e, STATUS_USAGE,
            "'%.200s' not found; expected an endpoint (ipc://PATH, tcp://HOST:PORT), a "
            "folder, or the file of a running pipeline",
            where);
    const enum status type =
        !s->found && where ? filetype_check_file(where, FILETYPE_PIPELINE, e) : STATUS_OK;
    if (type)
        return type;
    if (!s->found && where)
        return error_set(e, STATUS_FAILED,
                         S_ISDIR(what.st_mode) ? "no pipeline is running in %.200s"
                                               : "the pipeline %.200s is not running",
                         where);
    return s->found ? STATUS_OK
                    : error_set(e, STATUS_FAILED,
                                "no running pipeline found. Start one with bragg-run, or give its "
                                "folder or endpoint");
}

enum status find_run(const char *where, char endpoint[ENDPOINT_SIZE], char name[FIND_NAME_SIZE],
                     struct error *e)
{
    struct search s = {.where = where, .is_one = find_in_folder};
    name[0] = 0;
    if (where && strstr(where, "://")) {
        bool bind;
        const enum status bad = endpoint_parse(where, true, &bind, endpoint, e);
        if (bad)
            return bad;
        if (bind)
            return error_set(
                e, STATUS_USAGE,
                "'%.120s' begins with @; expected an endpoint to connect to, without @", where);
        if (endpoint_answers(endpoint))
            return STATUS_OK;
        return error_set(e, STATUS_FAILED, "no pipeline listens at %.200s", where);
    }
    if (where && find_in_folder(where, endpoint)) {
        name_of(where, name);
        return STATUS_OK;
    }
    const enum status status = search_all(&s, e);
    memcpy(endpoint, s.what, ENDPOINT_SIZE);
    memcpy(name, s.name, sizeof s.name);
    return status;
}

enum status find_folder(const char *where, char folder[PATH_MAX], struct error *e)
{
    struct search s = {.where = where, .is_one = is_folder};
    if (where && (is_folder(where, folder) || find_path(where, "bragg-run-*", is_folder, folder)))
        return STATUS_OK;
    const enum status status = search_all(&s, e);
    memcpy(folder, s.what, sizeof s.what);
    return status;
}

/* --- the status of a run ------------------------------------------------------- */

void source_monitor_open(struct source_monitor *m, const char *folder, const char *endpoint,
                         const char *keys)
{
    *m = (struct source_monitor){.folder = folder, .endpoint = endpoint, .keys = keys};
}

void source_monitor_close(struct source_monitor *m)
{
    if (m->connected)
        watch_close(&m->watch);
    m->connected = false;
}

static void connect_source(struct source_monitor *m)
{
    char endpoint[ENDPOINT_SIZE];
    struct error ignored;
    bool bind;
    if (m->endpoint ? endpoint_parse(m->endpoint, true, &bind, endpoint, &ignored) != STATUS_OK
                    : !find_in_folder(m->folder, endpoint))
        return;
    m->connected = watch_open(&m->watch, endpoint, m->keys, !m->keys, &ignored) == STATUS_OK;
    if (!m->connected)
        watch_close(&m->watch);
}

void source_monitor_ask(struct source_monitor *m, uint64_t interval_ns, uint64_t now_ns)
{
    if (now_ns - m->asked_ns < interval_ns)
        return;
    m->asked_ns = now_ns;
    if (!m->connected)
        connect_source(m);
    if (m->connected)
        watch_ask(&m->watch);
}

bool source_monitor_take(struct source_monitor *m, struct run_status *r)
{
    enum status ended;
    for (enum watch_got got;
         m->connected && (got = watch_receive(&m->watch, r, &ended)) != WATCH_NOTHING;) {
        m->ended = got == WATCH_END;
        if (got == WATCH_STATUS)
            return true;
    }
    return false;
}

void source_monitor_wait(struct source_monitor *m, int ms)
{
    if (m->connected)
        watch_wait(&m->watch, -1, ms);
}
