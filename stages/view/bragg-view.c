/*
 * bragg-view: a sink that serves a page, which shows the stream in a browser.  The stream never
 * waits for a browser.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "model/beam.h"
#include "stage/stage.h"
#include "stages/shared/frame_facts.h"
#include "stages/shared/preview.h"
#include "view_files.h"
#include "view_marks.h"
#include "view_pipeline.h"
#include "view_story.h"
#include "web/server.h"
#include "wire/control.h"

enum { GROUP_TEXT = 48, PLANE_EDGE = 4096, REST = 3 };
static const uint64_t UNSEEN_NS = 1000000000;

struct view {
    /* options */
    const char *bind, *token, *host;
    struct opt_marks given;
    double linger_s;
    int64_t memory_MiB;
    /* state */
    char group[GROUP_TEXT], address[WEB_ADDRESS_SIZE], secret[WEB_TOKEN_SIZE];
    bool piped;
    struct web *web;
    char control[ENDPOINT_SIZE];  // the endpoint where the source reports its state
    struct view_pipeline *pipeline;
    const struct experiment *experiment;
    struct preview preview;      // all panels in one picture
    uint64_t start_ns, next_ns;  // a passive sink skips frames that come before next_ns
    uint64_t frames, hits;
    atomic_bool interrupted;
    pid_t player;  // bragg-replay, which plays files; 0 without files
};

enum { FILES_MAX = 100000 };

#define AT(member) .offset = offsetof(struct view, member)

static const struct opt options[] = {
    {"bind", "ADDRESS:PORT", "Address of the page; port 0: any free one", OPT_TEXT, AT(bind),
     .usual = "127.0.0.1:8080"},
    {"token", "FILE", "Require the token in FILE; without FILE: make a token and print it",
     OPT_TEXT, AT(token), .flags = OPT_BARE},
    {"host", "NAME", "One more name of this host that addresses of the page may have", OPT_TEXT,
     AT(host)},
    {"memory", "MIB", "Memory for the last frames (at most 100) and for answers", OPT_INT,
     AT(memory_MiB), .min = 1, .max = 1 << 20, .usual = "512"},
    {"linger", "S",
     "Serve the page for this time after the stream ends (at the end of a pipe: until Ctrl-C, else "
     "0)",
     OPT_REAL, AT(linger_s), .min = 0, .max = 1e6, .usual = ""},
    OPT_END(struct view, given),
};

/* --- the page -------------------------------------------------------------- */

static enum status take_token(struct view *v, struct error *e)
{
    if (!opt_given(options, v, "token"))
        return STATUS_OK;
    return v->token && v->token[0] ? web_token_read(v->token, v->secret, e)
                                   : web_token_make(v->secret, e);
}

/* Prints the address.  If files are shown, this waits until the first of them is read, so that no
 * address is printed for a file that cannot be read. */
static enum status print_address(const struct view *v, struct error *e)
{
    if (printf("%s\n", v->address) < 0 || fflush(stdout) != 0)
        return error_errno(e, STATUS_FAILED, "cannot write the address to stdout");
    return STATUS_OK;
}

static enum status view_open(void *state, const char **operands, int noperands, struct error *e)
{
    struct view *v = state;
    char address[16];
    int port;
    bool loopback;
    enum status s = web_bind_parse("bind", v->bind, address, &port, &loopback, e);
    if (s == STATUS_OK && !loopback && !opt_given(options, v, "token"))
        s = error_set(e, STATUS_USAGE, "--bind=%s needs --token: other hosts reach this address",
                      v->bind);
    if (s == STATUS_OK)
        s = take_token(v, e);
    if (s)
        return s;
    const struct web_settings settings = {.bind = v->bind,
                                          .host = v->host,
                                          .token =
                                              opt_given(options, v, "token") ? v->secret : NULL,
                                          .store_bytes = (size_t)v->memory_MiB << 20};
    if (noperands)
        s = view_files_play(operands, noperands, &v->player, e);
    s = s ? s : web_open(&v->web, &settings, v->address, e);
    v->start_ns = clock_ns();
    return s || noperands ? s : print_address(v, e);
}

static enum status view_settle(void *state, const struct start *start, struct stage *self,
                               struct error *e)
{
    struct view *v = state;
    if (v->player && !start->piped)
        return error_set(e, STATUS_USAGE, "FILE and --in: give only one of them");
    v->piped = start->piped;
    self->role.transient = !start->piped;
    (void)snprintf(v->group, sizeof v->group, "%s/watcher %ld", self->role.name, (long)getpid());
    self->role.group = v->group;
    return STATUS_OK;
}

/* --- the stream ------------------------------------------------------------ */

static void view_meet(void *state, const char *control)
{
    struct view *v = state;
    (void)snprintf(v->control, sizeof v->control, "%s", control);
}

static enum status view_begin(void *state, struct experiment *x, struct error *e)
{
    struct view *v = state;
    v->experiment = x;
    enum status s = preview_open(&v->preview, x, PLANE_EDGE, e);
    if (s)
        return s;
    char *story = view_story(x, &v->preview);
    s = story ? web_begin(v->web, preview_panel(&v->preview), story, e)
              : error_memory(e, "a text for the pages");
    free(story);
    if (s == STATUS_OK && v->player)
        s = print_address(v, e);
    return s ? s : view_pipeline_open(&v->pipeline, v->web, v->control, e);
}

/* Copies a frame for the pages. */
static enum status keep(struct view *v, const struct frame *f, struct error *e)
{
    const struct image *image;
    enum status s = preview_image(&v->preview, &f->image, &image, e);
    if (s)
        return s;
    struct web_store *store = web_frames(v->web);
    struct web_frame *kept = web_store_new(store, image->type, image->unit, image->count);
    if (!kept)
        return error_memory(e, "a frame");
    memcpy(kept->image.pixels, image->pixels, image->count * pixel_size(image->type));
    kept->id = f->recipe.id;
    kept->time_s = (double)(clock_ns() - v->start_ns) / 1e9;
    kept->wavelength_A = incident_beam(v->experiment, &f->recipe).mean_m * 1e10;
    kept->lattices = f->recipe.nlattices;
    kept->came = v->frames;
    kept->hits = v->hits;
    kept->brightness = frame_mean(&kept->image);
    s = view_marks(v->experiment, preview_panel(&v->preview), f, &kept->marks, &kept->nmarks, e);
    if (s || !image_is_intact(&f->image)) {
        web_store_drop(store, kept);
        return s;
    }
    web_store_put(store, kept);
    web_news(v->web);
    return STATUS_OK;
}

/* Keeps a frame for the pages.  Next to other sinks, bragg-view is passive and uses at most a
 * quarter of the time, and almost none while nobody sees a page. */
static enum status view_frame(void *state, struct frame *f, struct error *e)
{
    struct view *v = state;
    const uint64_t begun_ns = clock_ns();
    v->frames++;
    v->hits += f->recipe.nlattices > 0;
    if (!v->piped && begun_ns < v->next_ns)
        return STATUS_OK;
    const enum status s = keep(v, f, e);
    const uint64_t ended_ns = clock_ns();
    v->next_ns =
        web_is_watched(v->web) ? ended_ns + REST * (ended_ns - begun_ns) : ended_ns + UNSEEN_NS;
    return s;
}

/* --- the end --------------------------------------------------------------- */

static void view_interrupt(void *state)
{
    struct view *v = state;
    atomic_store(&v->interrupted, true);
}

/* Waits until the time of --linger is over or a signal arrives.  The runtime has blocked the
 * signals that end a program, and does not read them any more. */
static void linger(const struct view *v)
{
    sigset_t ends;
    const struct timespec time = {.tv_sec = (time_t)v->linger_s,
                                  .tv_nsec = (long)(fmod(v->linger_s, 1.0) * 1e9)};
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGINT);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGHUP);
    const bool forever = v->piped && isnan(v->linger_s);
    if (forever || v->linger_s > 0)
        log_line(LOG_TELL, "the stream has ended; the page stays at %s; Ctrl-C ends it",
                 v->address);
    while (sigtimedwait(&ends, NULL, forever ? NULL : &time) < 0 && errno == EINTR)
        ;
}

static enum status tell_end(struct view *v, const char *how, struct error *e)
{
    char *text = view_epilogue(how, v->frames);
    const enum status s = text ? web_end(v->web, text, e) : error_memory(e, "a text for the pages");
    free(text);
    return s;
}

static enum status view_end(void *state, struct error *e)
{
    struct view *v = state;
    view_pipeline_close(v->pipeline);
    v->pipeline = NULL;
    const enum status s = tell_end(v, "The stream has ended.", e);
    if (s == STATUS_OK && !atomic_load(&v->interrupted))
        linger(v);
    return s;
}

static void view_close(void *state)
{
    struct view *v = state;
    struct error ignored = {0};
    view_pipeline_close(v->pipeline);
    if (v->web)
        (void)tell_end(v, "The stream was aborted.", &ignored);
    web_close(v->web);
    view_files_end(v->player);
    preview_free(&v->preview);
    explicit_bzero(v->secret, sizeof v->secret);
}

static const struct stage stage = {
    .role = {.name = "bragg-view", .wants = KIND_IMAGE, .gives = KIND_NONE},
    .summary = "Show the stream in a browser.",
    .examples = "... | bragg-noise | bragg-view\n"
                "bragg-view --bind=127.0.0.1:8081 lyso_*.cbf",
    .operands = "[FILE...]",
    .max_operands = FILES_MAX,
    .options = options,
    .reads_only = true,
    .speaks = true,
    .state_size = sizeof(struct view),
    .open = view_open,
    .settle = view_settle,
    .meet = view_meet,
    .begin = view_begin,
    .frame = view_frame,
    .interrupt = view_interrupt,
    .end = view_end,
    .close = view_close,
};

int main(int argc, char **argv)
{
    return stage_main(&stage, argc, argv);
}
