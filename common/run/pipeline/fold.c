/* Merges stages into bragg-intensity with --fuse. */
#include "run/pipeline/fold.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "stage/options.h"

enum { WORDS_SIZE = 4096 };

static const char *const follow[] = {"bragg-background", "bragg-noise"};

enum { FOLLOW = sizeof follow / sizeof *follow };

static bool leaves_first(const struct hosts *h, const struct pipeline_stage *s)
{
    bool leaves = false;
    for (int64_t i = 0; i < s->count; i++)
        leaves |= hosts_place(h, s, i) != 0;
    return leaves;
}

/* Returns the index of the only stage after number i; -1: there is none, or several. */
static int next_of(const struct pipeline *p, int i)
{
    int next = -1, count = 0;
    for (size_t k = 0; k < p->nstages; k++) {
        count += p->stages[k].input == i || p->stages[k].after == i;
        next = p->stages[k].input == i ? (int)k : next;
    }
    return count == 1 ? next : -1;
}

/* Returns true if the args of a stage can be passed to --fuse: options of the stage itself, no
 * operands, and no common options. */
static bool is_plain(const struct pipeline_stage *s)
{
    bool plain = s->count == 1 && !s->hosts && s->restart == INT64_MAX;
    for (size_t i = 0; i < s->nargs && plain; i++)
        plain = strncmp(s->args[i], "--", 2) == 0 &&
                !opt_find(options_table(NULL), s->args[i] + 2, strcspn(s->args[i] + 2, "="));
    return plain;
}

static enum status add(struct pipeline_stage *to, const struct pipeline_stage *s, struct error *e)
{
    char text[WORDS_SIZE] = "";
    const char *dash = strchr(s->program, '-');
    (void)snprintf(text, sizeof text, "--fuse=%s", dash + 1);
    bool good = true;
    to->compress = s->compress == COMPRESS_NOT_SAID ? to->compress : s->compress;
    for (size_t i = 0; i < s->nargs && good; i++)
        good = words_append(text, sizeof text, s->args[i]);
    if (good)
        return pipeline_add_word(to, text, e);
    return error_set(e, STATUS_INPUT,
                     "stage '%s': args are too long for --fuse; give the stage a key 'hosts'",
                     s->name);
}

/* Removes stage number i; the stages after it get its input. */
static void take_out(struct pipeline *p, int i)
{
    struct pipeline_stage *gone = &p->stages[i];
    const int before = gone->input;
    mem_free(gone->program);
    mem_free(gone->hosts);
    for (size_t k = 0; k < gone->nargs; k++)
        mem_free(gone->args[k]);
    memmove(gone, gone + 1, (--p->nstages - (size_t)i) * sizeof *gone);
    for (size_t k = 0; k < p->nstages; k++) {
        struct pipeline_stage *s = &p->stages[k];
        s->input = s->input == i ? before : s->input;
        s->input -= s->input > i;
        s->after -= s->after > i;
    }
}

enum status fold_stages(struct pipeline *p, const struct hosts *hosts, char text[FOLD_TEXT_SIZE],
                        struct error *e)
{
    enum status s = STATUS_OK;
    char names[80] = "";
    text[0] = 0;
    for (int i = 0; i < (int)p->nstages && !s; i++) {
        if (!pipeline_is_program(&p->stages[i], "bragg-intensity") ||
            pipeline_has(&p->stages[i], "fuse") || !leaves_first(hosts, &p->stages[i]))
            continue;
        for (int k = 0; k < FOLLOW && !s; k++) {
            const int next = next_of(p, i);
            if (next < 0 || !pipeline_is_program(&p->stages[next], follow[k]) ||
                !is_plain(&p->stages[next]) || pipeline_is_last(p, (size_t)next))
                continue;
            const size_t used = strlen(names);
            (void)snprintf(names + used, sizeof names - used, "%s'%s'", used ? " and " : "",
                           p->stages[next].name);
            s = add(&p->stages[i], &p->stages[next], e);
            take_out(p, next);
            i -= next < i;
            (void)snprintf(text, FOLD_TEXT_SIZE,
                           "%s moved into the processes of '%s', to send less over the network; "
                           "'hosts: first' keeps them apart",
                           names, p->stages[i].name);
        }
    }
    return s;
}
