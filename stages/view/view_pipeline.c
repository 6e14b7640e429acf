#include "view_pipeline.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "control/watch.h"
#include "link/endpoint.h"
#include "run/display/view.h"

/* Intervals between two requests for the status, in ns.  The first intervals are short, so that
 * short runs also have a last status.  WAIT_MS is the longest wait for an answer. */
enum { ASK_FIRST_NS = 100000000, ASK_NS = 1000000000, WAIT_MS = 100 };

/* State of the thread that requests the status of the source. */
struct view_pipeline {
    struct web *web;
    struct watch watch;
    struct view view;
    pthread_t thread;
    atomic_bool stop;
};

/* Writes the list of processes that the source excluded, in the order of their exclusion, as
 * JSON. */
static void put_fenced(FILE *out, const struct run_status *r)
{
    (void)fputs(",\"fenced\":[", out);
    for (size_t i = 0; i < r->nfenced; i++) {
        const struct fenced_status *f = &r->fenced[i];
        char reason[STAGE_NAME_SIZE];
        (void)snprintf(reason, sizeof reason, "%s", f->reason);
        for (char *c = reason; *c; c++)
            if (*c < ' ' || *c > '~' || *c == '"' || *c == '\\')
                *c = '?';
        (void)fprintf(
            out, "%s{\"pid\":%" PRId64 ",\"reason\":\"%s\",\"frames\":%" PRIu64 ",\"ago_s\":%.1f}",
            i ? "," : "", f->pid, reason, f->frames, (double)f->ago_ns / 1e9);
    }
    (void)fprintf(out, "],\"givenUp\":%" PRIu64, r->given_up.deaths ? r->given_up.frame + 1 : 0);
}

static void send_status(struct view_pipeline *v, int ended)
{
    char *text = NULL;
    size_t size;
    const struct run_status *r = view_latest(&v->view);
    FILE *out = r ? open_memstream(&text, &size) : NULL;
    if (!out)
        return;
    (void)fputs("{\"what\":\"pipeline\"", out);
    put_fenced(out, r);
    (void)fputs(",\"run\":", out);
    view_print_json(&v->view, ended, out);
    (void)fputs("}", out);
    if (fclose(out) == 0)
        web_pipeline(v->web, text);
    free(text);
}

/* Processes all answers of the source that have arrived, without waiting.  Returns false if the
 * run has ended. */
static bool take_status(struct view_pipeline *v)
{
    struct run_status r;
    enum status ended;
    for (;;)
        switch (watch_receive(&v->watch, &r, &ended)) {
        case WATCH_NOTHING:
            return true;
        case WATCH_STATUS:
            view_take(&v->view, &r, true);
            send_status(v, -1);
            break;
        case WATCH_END:
            send_status(v, (int)ended);
            return false;
        }
}

static void *watch_source(void *pipeline)
{
    struct view_pipeline *v = pipeline;
    uint64_t asked_ns = 0, gap_ns = ASK_FIRST_NS;
    while (!atomic_load(&v->stop) && take_status(v)) {
        const uint64_t now_ns = clock_ns();
        if (now_ns - asked_ns >= gap_ns) {
            asked_ns = now_ns;
            gap_ns = 2 * gap_ns < ASK_NS ? 2 * gap_ns : ASK_NS;
            watch_ask(&v->watch);
        }
        watch_wait(&v->watch, -1, WAIT_MS);
    }
    return NULL;
}

enum status view_pipeline_open(struct view_pipeline **opened, struct web *web, const char *control,
                               struct error *e)
{
    if (!control[0] || endpoint_is_network(control))
        return STATUS_OK;
    struct view_pipeline *v = mem_array(1, sizeof *v);
    v->web = web;
    sigset_t all, former;
    enum status s = watch_open(&v->watch, control, NULL, false, e);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &former);
    if (s == STATUS_OK && pthread_create(&v->thread, NULL, watch_source, v) != 0)
        s = error_set(e, STATUS_FAILED, "cannot start a thread");
    (void)pthread_sigmask(SIG_SETMASK, &former, NULL);
    if (s == STATUS_OK) {
        *opened = v;
        return s;
    }
    watch_close(&v->watch);
    mem_free(v);
    return s;
}

void view_pipeline_close(struct view_pipeline *v)
{
    if (!v)
        return;
    atomic_store(&v->stop, true);
    (void)pthread_join(v->thread, NULL);
    watch_close(&v->watch);
    view_clear(&v->view);
    mem_free(v);
}
