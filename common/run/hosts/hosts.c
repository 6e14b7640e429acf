/* Finds the hosts of a run from the options, the file and Slurm, and the host of each process. */
#include "run/hosts/hosts.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "run/hosts/launch.h"

static bool is_word(const char *text)
{
    return strcmp(text, "first") == 0 || strcmp(text, "spread") == 0 || strcmp(text, "each") == 0;
}

static bool names_hosts(const struct pipeline_stage *s)
{
    return s->hosts && !is_word(s->hosts);
}

/* Returns the index of the host with a name of `length` bytes; h->count: not found. */
static size_t find_host(const struct hosts *h, const char *name, size_t length)
{
    size_t i = 0;
    while (i < h->count &&
           (strlen(h->list[i].name) != length || strncmp(h->list[i].name, name, length) != 0))
        i++;
    return i;
}

/* Returns true if a host name of `length` bytes is valid.  Names become words in the command
 * lines of other programs, so they must not look like an option or contain characters with a
 * meaning for a shell. */
static bool is_good(const char *name, size_t length)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "-_.@:[]";
    return length && length < HOST_TYPED_SIZE && *name != '-' && strspn(name, allowed) >= length;
}

static enum status add_names(struct hosts *h, const char *option, const char *text, enum status bad,
                             struct error *e)
{
    for (const char *name = text;; name++) {
        const size_t length = strcspn(name, ",");
        if (!is_good(name, length))
            return error_set(e, bad,
                             "%s'%.80s' is not a list of host names; expected letters, digits "
                             "and -_.@:[], without - at the start, separated by commas",
                             option, text);
        if (find_host(h, name, length) == h->count) {
            if (h->count == HOSTS_MAX)
                return error_set(e, bad, "%s'%.80s' and more: too many hosts; expected at most %d",
                                 option, text, HOSTS_MAX);
            (void)snprintf(h->list[h->count++].name, HOST_TYPED_SIZE, "%.*s", (int)length, name);
        }
        name += length;
        if (!*name)
            return STATUS_OK;
    }
}

/* Lists the hosts of `text`, which are separated by commas (NULL: none), then the hosts that
 * stages name.  STATUS_USAGE, or STATUS_INPUT for names in the file: a name is invalid, there
 * are too many hosts, or there are none.  Call hosts_close afterwards, also after an error. */
static enum status list_hosts(struct hosts *h, enum launcher launcher, const char *text,
                              const struct pipeline *p, struct error *e)
{
    *h = (struct hosts){.launcher = launcher, .list = mem_array(HOSTS_MAX, sizeof *h->list)};
    enum status s = text ? add_names(h, "--hosts=", text, STATUS_USAGE, e) : STATUS_OK;
    for (size_t i = 0; i < p->nstages && s == STATUS_OK; i++) {
        char where[300];
        const struct pipeline_stage *stage = &p->stages[i];
        (void)snprintf(where, sizeof where, "%.200s:%ld: hosts: ", p->path, stage->line);
        if (names_hosts(stage))
            s = add_names(h, where, stage->hosts, STATUS_INPUT, e);
    }
    if (s == STATUS_OK && !h->count)
        s = error_set(e, STATUS_USAGE,
                      "--launcher=ssh: no hosts given. Use --hosts=A,B, or hosts: in %s", p->path);
    return s;
}

void hosts_close(struct hosts *h)
{
    for (size_t i = 0; i < h->count; i++)
        mem_free(h->list[i].ports);
    mem_free(h->list);
    *h = (struct hosts){0};
}

/* Multiplies the count of stages with `hosts: each` by the number of hosts.
 * STATUS_INPUT: there would be too many processes. */
static enum status multiply_counts(const struct hosts *h, struct pipeline *p, struct error *e)
{
    for (size_t i = 0; i < p->nstages; i++) {
        struct pipeline_stage *s = &p->stages[i];
        if (!s->hosts || strcmp(s->hosts, "each") != 0)
            continue;
        if ((size_t)s->count * h->count > PIPELINE_COUNT_MAX)
            return error_set(e, STATUS_INPUT,
                             "%s:%ld: stage '%s' has %lld processes on each of %zu hosts; expected "
                             "at most %d in total",
                             p->path, s->line, s->name, (long long)s->count, h->count,
                             PIPELINE_COUNT_MAX);
        s->count *= (int64_t)h->count;
    }
    return STATUS_OK;
}

/* Checks that no stage names hosts, because there is no launcher.  STATUS_INPUT: a stage names
 * hosts. */
static enum status refuse_hosts(const struct pipeline *p, struct error *e)
{
    for (size_t i = 0; i < p->nstages; i++)
        if (names_hosts(&p->stages[i]))
            return error_set(e, STATUS_INPUT,
                             "%s:%ld: hosts: stage '%s' names %.80s, but no launcher is given. Use "
                             "--launcher=ssh",
                             p->path, p->stages[i].line, p->stages[i].name, p->stages[i].hosts);
    return STATUS_OK;
}

/* Returns the index, in *h, of the host with name number i of a list.  All names of the list are
 * in *h. */
static size_t find_named(const struct hosts *h, const char *text, size_t i)
{
    for (; i; i--)
        text += strcspn(text, ",") + 1;
    return find_host(h, text, strcspn(text, ","));
}

size_t hosts_place(const struct hosts *h, const struct pipeline_stage *s, int64_t i)
{
    size_t names = 1;
    if (!names_hosts(s))
        return s->hosts ? (strcmp(s->hosts, "first") == 0 ? 0 : (size_t)i % h->count)
                        : (s->count > 1 ? (size_t)i % h->count : 0);
    for (const char *c = s->hosts; *c; c++)
        names += *c == ',';
    return find_named(h, s->hosts, (size_t)i % names);
}

enum status hosts_find(struct hosts *h, enum launcher launcher, const char *text,
                       struct pipeline *p, struct error *e)
{
    if (!launcher)
        return refuse_hosts(p, e);
    enum status s = launch_check(launcher, e);
    if (s)
        return s;
    char *allocated = launcher == LAUNCHER_SLURM ? slurm_hosts(e) : NULL;
    if (launcher == LAUNCHER_SLURM && !allocated)
        return STATUS_FAILED;
    s = list_hosts(h, launcher, allocated ? allocated : text, p, e);
    mem_free(allocated);
    return s ? s : multiply_counts(h, p, e);
}

/* --- compression --------------------------------------------------------------- */

static const char FUSED_NOISE[] = "--fuse=noise";

/* Returns true if the stage sends integer counts, which compress well, instead of photons. */
static bool gives_counts(const struct pipeline_stage *s)
{
    bool fused = false;
    for (size_t i = 0; i < s->nargs; i++)
        fused |= strncmp(s->args[i], FUSED_NOISE, strlen(FUSED_NOISE)) == 0;
    return pipeline_is_program(s, "bragg-noise") ||
           (fused && pipeline_is_program(s, "bragg-intensity"));
}

/* Returns true if the processes of two stages are not all on one host. */
static bool are_apart(const struct hosts *h, const struct pipeline_stage *a,
                      const struct pipeline_stage *b)
{
    bool apart = false;
    const size_t first = hosts_place(h, a, 0);
    for (int64_t i = 0; i < a->count; i++)
        apart |= hosts_place(h, a, i) != first;
    for (int64_t i = 0; i < b->count; i++)
        apart |= hosts_place(h, b, i) != first;
    return apart;
}

static bool leaves_host(const struct pipeline *p, size_t i, const struct hosts *h)
{
    bool leaves = false;
    for (size_t k = 0; k < p->nstages && h->count > 1; k++)
        leaves |= p->stages[k].input == (int)i && are_apart(h, &p->stages[i], &p->stages[k]);
    return leaves;
}

enum status choose_compression(struct pipeline *p, const struct hosts *hosts, struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < p->nstages && s == STATUS_OK; i++) {
        struct pipeline_stage *stage = &p->stages[i];
        const bool packs = stage->compress == COMPRESS_NOT_SAID
                               ? gives_counts(stage) && leaves_host(p, i, hosts)
                               : stage->compress == COMPRESS_TRUE;
        if (packs && !pipeline_has(stage, "compress"))
            s = pipeline_add_word(stage, "--compress", e);
    }
    return s;
}
