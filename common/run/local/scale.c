/* Sends, executes and answers the requests of --add and --remove. */
#include "run/local/supervisor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/opt.h"

enum { REQUEST_ID_SIZE = 20, REQUEST_TEXT_SIZE = 80 };

/* A request to add processes to a stage, or to remove processes from it. */
struct scale_request {
    char id[REQUEST_ID_SIZE];
    bool remove;
    char text[REQUEST_TEXT_SIZE];  // STAGE=N
};

/* A new file in an NFS folder can take half a minute to appear on another host. */
static const uint64_t PATIENCE_NS = UINT64_C(60000000000);
enum { STEP_MS = 50, ANSWER_SIZE = 600 };

static const char REQUEST[] = "wish-", ANSWER[] = "told-";

static void path_of(const char *folder, const char *kind, const char *id, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/%s%s", folder, kind, id);
}

/* Writes a file, which appears under its name only when it is complete.  Returns false if that
 * fails. */
static bool write_whole_file(const char *folder, const char *kind, const char *id, const char *text)
{
    char path[PATH_MAX], hidden[PATH_MAX];
    path_of(folder, kind, id, path);
    path_of(folder, ".new-", id, hidden);
    const int file = steady_open(hidden, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const ssize_t size = (ssize_t)strlen(text);
    const bool written = file >= 0 && steady_write(file, text, (size_t)size) == size;
    const bool closed = file >= 0 && (close(file) == 0 || errno == EINTR);
    if (written && closed && steady_rename(hidden, path) == 0)
        return true;
    (void)unlink(hidden);
    return false;
}

/* Reads a file into `text`, at most size - 1 bytes, and removes the file.  Returns false if it
 * cannot be read. */
static bool read_and_remove(const char *folder, const char *kind, const char *id, char *text,
                            int size)
{
    char path[PATH_MAX];
    path_of(folder, kind, id, path);
    const int file = steady_open(path, O_RDONLY | O_CLOEXEC, 0);
    const ssize_t length = file < 0 ? -1 : steady_read_at(file, text, (size_t)size - 1, 0);
    if (file >= 0)
        (void)close(file);
    if (length <= 0)
        return false;
    text[length] = 0;
    text[strcspn(text, "\n")] = 0;
    return unlink(path) == 0;
}

/* --- the process that asks ----------------------------------------------------- */

static enum status await_answer(const char *folder, const char *id, struct error *e)
{
    char answer[ANSWER_SIZE] = "", path[PATH_MAX];
    int status = STATUS_FAILED, at = 0;
    bool told = false, there = true;
    const uint64_t until_ns = clock_ns() + PATIENCE_NS;
    while (!told && there && clock_ns() < until_ns) {
        (void)nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
        told = read_and_remove(folder, ANSWER, id, answer, sizeof answer);
        there = access(folder, F_OK) == 0;
    }
    path_of(folder, REQUEST, id, path);
    (void)unlink(path);
    if (!told)
        return error_set(e, STATUS_FAILED,
                         there ? "the bragg-run of %.200s does not answer within 60 s"
                               : "the run of %.200s has ended",
                         folder);
    (void)sscanf(answer, "%d %n", &status, &at);
    if (status != STATUS_OK)
        return error_set(e, (enum status)status, "%s", answer + at);
    printf("%s\n", answer + at);
    return STATUS_OK;
}

enum status scale_request_send(const char *folder, bool remove, const char *text, struct error *e)
{
    char id[REQUEST_ID_SIZE], line[REQUEST_TEXT_SIZE + 16];
    uint64_t bits;
    if (strlen(text) >= REQUEST_TEXT_SIZE || strchr(text, '\n'))
        return error_set(e, STATUS_USAGE, "--%s: '%.40s...' is too long; expected STAGE=N",
                         remove ? "remove" : "add", text);
    if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return error_errno(e, STATUS_FAILED, "cannot get random numbers");
    (void)snprintf(id, sizeof id, "%016" PRIx64, bits);
    (void)snprintf(line, sizeof line, "%s %s", remove ? "remove" : "add", text);
    if (!write_whole_file(folder, REQUEST, id, line))
        return error_errno(e, STATUS_FAILED, "%s", folder);
    return await_answer(folder, id, e);
}

/* --- the run that is asked ----------------------------------------------------- */

/* Reads the next request into *w and removes its file.  Returns false if there is no request. */
static bool take_request(const char *folder, struct scale_request *w)
{
    char line[REQUEST_TEXT_SIZE + 16];
    DIR *all = opendir(folder);
    bool found = false;
    for (const struct dirent *d; all && !found && (d = readdir(all));) {
        const char *id = d->d_name + strlen(REQUEST);
        if (strncmp(d->d_name, REQUEST, strlen(REQUEST)) != 0 || strlen(id) >= REQUEST_ID_SIZE)
            continue;
        (void)snprintf(w->id, sizeof w->id, "%s", id);
        found = read_and_remove(folder, REQUEST, w->id, line, sizeof line);
    }
    if (all)
        (void)closedir(all);
    if (!found)
        return false;
    w->remove = strncmp(line, "remove ", 7) == 0;
    const char *space = strchr(line, ' ');
    (void)snprintf(w->text, sizeof w->text, "%.*s", REQUEST_TEXT_SIZE - 1, space ? space + 1 : "");
    return true;
}

static void answer_request(const char *folder, const struct scale_request *w, enum status status,
                           const char *text)
{
    char line[ANSWER_SIZE];
    (void)snprintf(line, sizeof line, "%d %.500s", (int)status, text);
    (void)write_whole_file(folder, ANSWER, w->id, line);  // the requester may have ended
}

static const uint64_t SEARCH_NS = UINT64_C(100000000);  // interval of the search for requests

/* Returns true if processes with such a command can be added and removed during a run.  They
 * bind nothing, so other processes need no new options, and they store no frames. */
static bool may_change(const struct command *c)
{
    return c->movable && !c->last && !c->source && !c->after && c->before &&
           pipeline_is_ours(c->stage);
}

/* Returns true if processes of the stage can be added and removed.  Sets *name to the name of a
 * stage for which this is true, for messages; NULL: there is none. */
static bool stage_may_change(const struct commands *c, const struct pipeline_stage *stage,
                             const char **name)
{
    bool may = false;
    *name = NULL;
    for (size_t i = 0; i < c->count; i++) {
        if (!may_change(&c->list[i]))
            continue;
        may |= c->list[i].stage == stage;
        *name = c->list[i].stage->name;
    }
    return may;
}

static bool is_of(const struct process *p, const struct pipeline_stage *stage)
{
    return p->command->stage == stage && !p->leaving && (p->pid || p->start_ns);
}

static int64_t count_of(const struct restarts *r, const struct pipeline_stage *stage)
{
    int64_t count = 0;
    for (size_t i = 0; i < r->count; i++)
        count += is_of(&r->processes[i], stage);
    return count;
}

static enum status add_processes(struct scale *g, struct restarts *r, struct pipeline_stage *stage,
                                 int64_t more, struct error *e)
{
    enum status s = STATUS_OK;
    for (int64_t i = 0; i < more && s == STATUS_OK; i++) {
        s = commands_add(g->commands, g->pipeline, stage, g->settings, e);
        if (s == STATUS_OK)
            r->processes[r->count++] = (struct process){
                .command = &g->commands->list[g->commands->count - 1], .output = -1, .start_ns = 1};
    }
    return s;
}

/* Removes `fewer` processes of a stage, the newest first.  A process that waits for its restart
 * is not restarted.  STATUS_USAGE: no process would remain. */
static enum status remove_processes(struct restarts *r, const struct pipeline_stage *stage,
                                    int64_t fewer, struct error *e)
{
    const int64_t count = count_of(r, stage);
    if (fewer >= count)
        return error_set(e, STATUS_USAGE, "--remove: stage '%s' has %d process%s; one must remain",
                         stage->name, (int)count, count == 1 ? "" : "es");
    for (size_t i = r->count; i-- > 0 && fewer;) {
        struct process *p = &r->processes[i];
        if (!is_of(p, stage))
            continue;
        p->leaving = true;
        p->start_ns = 0;
        process_leave(p);
        fewer--;
    }
    return STATUS_OK;
}

static enum status change(struct scale *g, struct restarts *r, const struct scale_request *w,
                          char text[200], struct error *e)
{
    const char *option = w->remove ? "--remove" : "--add", *number, *other;
    struct pipeline_stage *stage;
    int64_t n = 0;
    enum status s = pipeline_split(g->pipeline, option, w->text, &stage, &number, e);
    if (s == STATUS_OK)
        s = parse_int(number, 1, PIPELINE_COUNT_MAX, option, &n, e);
    if (s)
        return s;
    if (!stage_may_change(g->commands, stage, &other))
        return error_set(
            e, STATUS_USAGE,
            "%s: the process count of '%s' is fixed during a run; only %s%s%s can change", option,
            stage->name, other ? "'" : "a stage directly after the source", other ? other : "",
            other ? "'" : "");
    if (w->remove && g->settings->nwraps)
        return error_set(e, STATUS_USAGE,
                         "--remove does not work with --wrap: the request would reach the wrapper, "
                         "not the stage");
    s = w->remove ? remove_processes(r, stage, n, e) : add_processes(g, r, stage, n, e);
    (void)snprintf(text, 200, "%s: %d process%s%s", stage->name, (int)count_of(r, stage),
                   count_of(r, stage) == 1 ? "" : "es",
                   w->remove ? "; removed processes finish their frames first" : "");
    return s;
}

void scale_turn(struct scale *g, struct restarts *r, bool ending, uint64_t now_ns)
{
    const char *folder = r->env->guard->folder;
    struct scale_request w;
    if (now_ns - g->searched_ns < SEARCH_NS)
        return;
    g->searched_ns = now_ns;
    while (take_request(folder, &w)) {
        struct error e = {0};
        char text[200] = "";
        const enum status s = ending
                                  ? error_set(&e, STATUS_FAILED,
                                              "the run is ending; its process counts cannot change")
                                  : change(g, r, &w, text, &e);
        answer_request(folder, &w, s, s ? e.text : text);
    }
}
