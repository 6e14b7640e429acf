/* Executes the requests of --add and --remove during a run. */
#include "run/display/growth.h"

#include <stdio.h>
#include <string.h>

#include "base/opt.h"
#include "run/pipeline/wish.h"

static const uint64_t LOOK_NS = UINT64_C(100000000);  // interval of the search for requests

/* Returns true if such processes can be added and removed during a run: they bind nothing, so other
 * processes need no new options, and they store no frames. */
static bool may_change(const struct command *c)
{
    return c->movable && !c->last && !c->source && !c->after && c->before &&
           pipeline_is_ours(c->stage);
}

/* Returns true if the stage has such processes.  Sets *name to a stage that has; NULL: none. */
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

static enum status add(struct growth *g, struct restarts *r, struct pipeline_stage *stage,
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

/* Removes processes, the newest first.  A process that waits for its restart is not restarted. */
static enum status drop(struct restarts *r, const struct pipeline_stage *stage, int64_t fewer,
                        struct error *e)
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

static enum status change(struct growth *g, struct restarts *r, const struct wish *w,
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
    s = w->remove ? drop(r, stage, n, e) : add(g, r, stage, n, e);
    (void)snprintf(text, 200, "%s: %d process%s%s", stage->name, (int)count_of(r, stage),
                   count_of(r, stage) == 1 ? "" : "es",
                   w->remove ? "; removed processes finish their frames first" : "");
    return s;
}

void growth_turn(struct growth *g, struct restarts *r, bool ending, uint64_t now_ns)
{
    const char *folder = r->env->guard->folder;
    struct wish w;
    if (now_ns - g->looked_ns < LOOK_NS)
        return;
    g->looked_ns = now_ns;
    while (wish_take(folder, &w)) {
        struct error e = {0};
        char text[200] = "";
        const enum status s = ending
                                  ? error_set(&e, STATUS_FAILED,
                                              "the run is ending; its process counts cannot change")
                                  : change(g, r, &w, text, &e);
        wish_answer(folder, &w, s, s ? e.text : text);
    }
}
