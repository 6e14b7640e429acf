/* The states of the simulated detector, and the beginning and end of a series of images. */
#include "eiger.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"

static const uint64_t KILL_NS = 10000000000;
static const uint64_t WRITE_NS = 600000000000;  // for files, after the last image was sent

void eiger_set_state(struct eiger *v, enum eiger_state state)
{
    static const char *const names[] = {"na", "idle", "configure", "ready", "acquire", "error"};
    const bool runs = state == EIGER_READY || state == EIGER_ACQUIRE;
    const bool enabled = strcmp(keys_text(&v->keys, "stream:config:mode"), "enabled") == 0;
    v->state = state;
    keys_set(&v->keys, "detector:status:state", json_string(names[state]));
    keys_set(&v->keys, "stream:status:state",
             json_string(runs && v->sends ? "acquire"
                         : enabled        ? "ready"
                                          : "disabled"));
}

static struct http_reply plain(unsigned code, const char *text)
{
    return (struct http_reply){
        .code = code, .type = "text/plain; charset=utf-8", .body = mem_text("%s", text)};
}

char *eiger_sequence(const struct eiger *v)
{
    return mem_text("{\"sequence id\": %" PRIu64 "}", v->number);
}

struct http_reply eiger_reply(const struct eiger *v)
{
    return (struct http_reply){
        .code = 200, .type = "application/json; charset=utf-8", .body = eiger_sequence(v)};
}

void eiger_show_files(struct eiger *v)
{
    const bool enabled = strcmp(keys_text(&v->keys, "filewriter:config:mode"), "enabled") == 0;
    bool runs = v->writes && v->child;
    for (int i = 0; i < EIGER_PAST_MAX; i++)
        runs |= v->past[i].child && v->past[i].writes;
    keys_set(&v->keys, "filewriter:status:state",
             json_string(runs      ? "acquire"
                         : enabled ? "ready"
                                   : "disabled"));
    files_list(&v->files, &v->keys);
    char path[PATH_MAX];
    files_name_truth(&v->files, v->number, 0, path, sizeof path);
    keys_set(&v->keys, "braggpipe:status:truth",
             access(path, R_OK) == 0 ? json_sprintf("/data/%s", strrchr(path, '/') + 1)
                                     : json_string(""));
}

void eiger_initialize(struct eiger *v)
{
    struct eiger_keys *k = &v->keys;
    json_t *changed = json_array(), *energy = json_real(v->options.energy_eV);
    eiger_end_series(v);
    keys_reset(k);
    (void)keys_put(k, "detector", "photon_energy", energy, changed, NULL);
    json_decref(energy);
    json_t *distance = json_real(v->options.distance_mm / 1e3);
    (void)keys_put(k, "detector", "detector_distance", distance, changed, NULL);
    json_decref(distance);
    json_decref(changed);
    mask_count(v);
    monitor_clear(v->monitor, k, true);
    keys_set(k, "total_flux", json_real(v->options.flux_hz));
    keys_set(k, "stream:config:mode", json_string(v->options.stream ? "disabled" : "enabled"));
    v->number = 0;
    eiger_set_state(v, EIGER_IDLE);
}

void eiger_restart(struct eiger *v)
{
    eiger_initialize(v);
    eiger_set_state(v, EIGER_NA);
}

/* --- late images: they leave as they come, in their order, and are counted ----------------- */

static const uint64_t FIRST_LOOK_NS = 10000000000;

static uint64_t since_trigger(const struct eiger *v)
{
    const uint64_t now_ns = clock_ns();
    return now_ns > v->trigger_ns ? now_ns - v->trigger_ns : 0;
}

void late_begin(struct eiger *v)
{
    v->late = (struct eiger_late){0};
    keys_set(&v->keys, "braggpipe:status:late", json_integer(0));
    keys_set(&v->keys, "braggpipe:status:longest_delay", json_real(0));
    keys_set(&v->keys, "braggpipe:status:frames_per_second", json_real(0));
}

void late_note(struct eiger *v, uint64_t due_ns)
{
    struct eiger_late *l = &v->late;
    const uint64_t delay_ns = clock_ns() - due_ns;
    const double exposed_ns = (double)(l->exposed_ns + since_trigger(v));
    const bool late = !v->gated && l->waits && delay_ns > v->frame_ns / 2;
    l->waits = false;
    keys_set(&v->keys, "braggpipe:status:frames_per_second",
             json_real(1e9 * (double)(v->images + 1) / exposed_ns));
    if (!late)
        return;
    l->images++;
    l->longest_ns = delay_ns > l->longest_ns ? delay_ns : l->longest_ns;
    keys_set(&v->keys, "braggpipe:status:late", json_integer((json_int_t)l->images));
    keys_set(&v->keys, "braggpipe:status:longest_delay", json_real((double)l->longest_ns / 1e9));
}

void late_warn(struct eiger *v)
{
    const uint64_t since_ns = since_trigger(v);
    const double taken = (double)(v->images - (v->started - 1) * v->per_trigger);
    const double due = fmin((double)since_ns / (double)v->frame_ns, (double)v->per_trigger);
    if (v->gated || v->late.warned || since_ns < FIRST_LOOK_NS ||
        taken >= due - fmax(0.05 * due, 2))
        return;
    v->late.warned = true;
    log_line(LOG_WARNING,
             "series %" PRIu64 ": %.3g of %.3g images/s: images leave late, because the pipeline "
             "is too slow for frame_time",
             v->number, 1e9 * taken / (double)since_ns, 1e9 / (double)v->frame_ns);
}

void late_end_trigger(struct eiger *v)
{
    v->late.exposed_ns += since_trigger(v);
}

/* Prints a line about the images of the series that were lost, and about those that left late. */
static void late_tell(const struct eiger *v)
{
    const struct eiger_late *l = &v->late;
    if (v->lost)
        log_line(LOG_WARNING,
                 "series %" PRIu64 ": %" PRIu64 " of %" PRIu64 " images did not leave after their "
                 "triggers, because the pipeline file has bragg-serve --inject",
                 v->number, v->lost, v->images);
    if (l->images)
        log_line(
            LOG_WARNING,
            "series %" PRIu64 ": %" PRIu64 " of %" PRIu64 " images left late, by up to %.3g s "
            "(%.3g of %.3g images/s). Set a longer frame_time, or a faster pipeline (--pipeline)",
            v->number, l->images, v->images, (double)l->longest_ns / 1e9,
            keys_real(&v->keys, "braggpipe:status:frames_per_second"), 1e9 / (double)v->frame_ns);
}

/* --- pipelines that end --------------------------------------------------------- */

bool eiger_has_ended(pid_t child, bool *failed)
{
    int code = 0;
    const pid_t pid = waitpid(child, &code, WNOHANG);
    *failed = code != 0;
    return pid == child || pid < 0;
}

/* Drops the messages that come after the images of a series.  Among them may be images that changed
 * places, and bragg-serve waits until they are taken. */
static void drop_rest(struct eiger_past *p)
{
    enum outlet_kind kind = OUTLET_NOTHING;
    while (p->rest && kind != OUTLET_END && (kind = outlet_message(p->rest)) != OUTLET_NOTHING)
        outlet_drop(p->rest);
    if (kind != OUTLET_END)
        return;
    outlet_close(p->rest);
    p->rest = NULL;
}

/* Cleans up after a pipeline that has ended. */
static void end_past(struct eiger *v, struct eiger_past *p)
{
    outlet_close(p->rest);
    p->rest = NULL;
    folder_remove(p->folder);
    files_collect(&v->files, p->run);
    p->child = 0;
}

void eiger_reap(struct eiger *v)
{
    for (int i = 0; i < EIGER_PAST_MAX; i++) {
        struct eiger_past *p = &v->past[i];
        drop_rest(p);
        if (p->child && clock_ns() - p->since_ns > p->limit_ns)
            (void)kill(-p->child, SIGKILL);
        bool failed;
        if (p->child && eiger_has_ended(p->child, &failed))
            end_past(v, p);
    }
}

void eiger_name_file(const struct eiger *v, const char *ending, char *path, size_t size)
{
    (void)snprintf(path, size, "%s%s", v->series_folder, ending);
}

void eiger_remove_mask(const struct eiger *v)
{
    char path[PATH_MAX + 8];
    eiger_name_file(v, ".mask", path, sizeof path);
    (void)unlink(path);
}

/* Ends the pipeline of the series, and lets reap wait for its end. */
static void end_child(struct eiger *v)
{
    eiger_remove_mask(v);
    char path[PATH_MAX + 8];
    eiger_name_file(v, ".yaml", path, sizeof path);
    (void)unlink(path);
    if (v->gate)
        (void)fclose(v->gate);
    v->gate = NULL;
    if (v->child_ended)
        folder_remove(v->series_folder);
    if (v->child_ended)
        files_collect(&v->files, v->run);
    if (v->child && !v->child_ended) {
        int slot = 0;
        for (int i = 0; i < EIGER_PAST_MAX; i++)
            if (!v->past[i].child || v->past[i].since_ns < v->past[slot].since_ns)
                slot = i;
        struct eiger_past *p = &v->past[slot];
        if (p->child) {
            (void)kill(-p->child, SIGKILL);
            (void)waitpid(p->child, NULL, 0);
            end_past(v, p);
        }
        const bool complete = (v->writes || v->tells) && v->images == v->per_trigger * v->triggers;
        *p = (struct eiger_past){.child = v->child,
                                 .since_ns = clock_ns(),
                                 .limit_ns = complete ? WRITE_NS : KILL_NS,
                                 .run = v->run,
                                 .writes = v->writes,
                                 .stopped = !complete,
                                 .rest = complete ? outlet_leave(v->outlet) : NULL};
        (void)snprintf(p->folder, sizeof p->folder, "%s", v->series_folder);
        if (!complete)
            (void)kill(v->child, SIGTERM);
    }
    outlet_disconnect(v->outlet);
    v->child = 0;
    v->child_ended = v->child_failed = false;
}

void eiger_finish_series(struct eiger *v, enum eiger_state state)
{
    const bool header_has_left = v->state == EIGER_READY || v->state == EIGER_ACQUIRE;
    if (header_has_left)
        late_tell(v);
    if (header_has_left && v->sends)
        (void)outlet_end(v->outlet, v->stream, v->number, v->facts.unique);
    end_child(v);
    free(v->settings);
    v->settings = NULL;
    v->queued = v->cancels = false;
    v->answer_ns = 0;
    eiger_set_state(v, state);
}

void eiger_end_series(struct eiger *v)
{
    if (v->state == EIGER_NA || v->state == EIGER_IDLE)
        return;
    const bool arming = v->state == EIGER_CONFIGURE;
    eiger_finish_series(v, EIGER_IDLE);
    http_finish(v->http, HTTP_WAIT_TRIGGER, eiger_reply(v));
    if (arming)
        http_finish(v->http, HTTP_WAIT_ARM, plain(400, "arm: the series was ended by a command"));
}

void eiger_cancel(struct eiger *v)
{
    if (v->state == EIGER_ACQUIRE)
        v->cancels = true;
    else
        eiger_end_series(v);
}

/* Returns the last message of a stage, or else of bragg-run, which only names the stage. */
static void read_reason(const struct eiger *v, char *text, size_t size)
{
    static const char summary[] = "bragg-run: stage ";
    char path[PATH_MAX + 8], line[512];
    bool first = true;
    (void)snprintf(path, sizeof path, "%s.log", v->series_folder);
    (void)snprintf(text, size, "the pipeline ended without a message");
    FILE *in = fopen(path, "re");
    while (in && fgets(line, sizeof line, in))
        if (line[strspn(line, " \n")] && (first || strncmp(line, summary, strlen(summary)) != 0)) {
            first = false;
            (void)snprintf(text, size, "%.*s", (int)strcspn(line, "\n"), line);
        }
    if (in)
        (void)fclose(in);
}

void eiger_fail_series(struct eiger *v)
{
    char text[512];
    read_reason(v, text, sizeof text);
    eiger_fail_series_because(v, text);
}

void eiger_fail_series_because(struct eiger *v, const char *text)
{
    log_line(LOG_ERROR, "series %" PRIu64 ": %s", v->number, text);
    eiger_finish_series(v, EIGER_ERROR);
    keys_set(&v->keys, "detector:status:error", json_pack("[s]", text));
    http_finish(v->http, HTTP_WAIT_ARM, plain(500, text));
    http_finish(v->http, HTTP_WAIT_TRIGGER, plain(500, text));
}

/* --- the end of the program ---------------------------------------------------- */

void eiger_close(struct eiger *v)
{
    if (v->outlet)
        eiger_end_series(v);
    for (int i = 0; i < EIGER_PAST_MAX; i++)
        if (v->past[i].child && !v->past[i].stopped) {
            v->past[i].since_ns = clock_ns();
            v->past[i].limit_ns = KILL_NS;
            (void)kill(v->past[i].child, SIGTERM);
        }
    for (bool runs = true; runs;) {
        runs = false;
        eiger_reap(v);
        for (int i = 0; i < EIGER_PAST_MAX; i++)
            runs |= v->past[i].child > 0;
        if (runs)
            (void)usleep(10000);
    }
    outlet_close(v->outlet);
    http_close(v->http);
    keys_free(&v->keys);
    for (size_t i = 0; i < sizeof v->masks / sizeof *v->masks; i++)
        mask_close(&v->masks[i]);
    monitor_close(v->monitor);
    if (v->folder[0])
        folder_remove(v->folder);
}
