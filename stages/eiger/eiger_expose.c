/* Triggers of a series, simulated pulses of an external trigger, and the images that are due. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "eiger.h"

enum { WAIT_MS = 5, IDLE_MS = 500 };

/* Limits of an exposure that a trigger defines, in s, and relative to count_time. */
static const double EXPOSURE_MIN_S = 3e-6, EXPOSURE_MAX_S = 3600, RELATIVE_MAX = 1e6;

/* Sends the current message of the pipeline to a client, if Stream is enabled. */
static void pass_on(struct eiger *v)
{
    if (!v->sends)
        outlet_drop(v->outlet);
    else if (!outlet_send(v->outlet, v->stream))
        keys_set(&v->keys, "stream:status:dropped", json_integer((json_int_t)++v->dropped));
}

/* Begins the series with its header message, which has come from the pipeline. */
static void begin_series(struct eiger *v)
{
    header_take(v);
    keys_set(&v->keys, "detector:status:series_unique_id", json_string(v->facts.unique));
    eiger_remove_mask(v);
    pass_on(v);
    eiger_set_state(v, EIGER_READY);
    v->pulse_ns = clock_ns();
    http_finish(v->http, HTTP_WAIT_ARM, eiger_reply(v));
}

/* --- triggers ------------------------------------------------------------------- */

/* Returns what a trigger that comes now defines. */
static struct eiger_trigger make_trigger(const struct eiger *v, double exposure_s)
{
    const struct eiger_keys *k = &v->keys;
    return (struct eiger_trigger){
        .exposure_s = exposure_s,
        .sample_um = {keys_real(k, "braggpipe:config:sample_x"),
                      keys_real(k, "braggpipe:config:sample_y")},
        .along_um = keys_real(k, "braggpipe:config:sample_z"),
        .start_deg = v->axes.start_deg +
                     (axes_move_omega(&v->axes) ? keys_real(k, "braggpipe:config:omega") : 0)};
}

/* Writes the lines of a trigger for the pipeline, which waits for them. */
static void open_gate(struct eiger *v, const struct eiger_trigger *t)
{
    const double fluence = v->gated ? t->exposure_s / v->count_s : 1;
    for (uint64_t i = 0; i < v->per_trigger; i++) {
        (void)fprintf(v->gate, "%.17g", fluence);
        if (v->moves)
            (void)fprintf(v->gate, " %.12g %.12g %.12g %.12g", t->sample_um[0], t->sample_um[1],
                          t->start_deg + v->axes.step_deg * (double)i, t->along_um);
        (void)fputc('\n', v->gate);
    }
    (void)fflush(v->gate);
}

/* Begins the exposures of a trigger. */
static void begin_exposures(struct eiger *v, const struct eiger_trigger *t)
{
    v->started++;
    v->queued = false;
    v->trigger_ns = clock_ns() + v->delay_ns;
    if (v->gated)
        v->frame_ns = (uint64_t)llround(t->exposure_s * 1e9);
    if (v->gate)
        open_gate(v, t);
    v->answer_ns = v->trigger_ns + v->per_trigger * v->frame_ns;
    if (v->started == 1)
        (void)dectris_date(clock_unix_ns() + v->delay_ns, v->date);
    eiger_set_state(v, EIGER_ACQUIRE);
}

/* Checks the exposure that a trigger defines.  NAN stands for none, which means count_time. */
static enum status check_exposure(const struct eiger *v, const char *what, double *exposure_s,
                                  struct error *e)
{
    const double least = fmax(EXPOSURE_MIN_S, v->count_s / RELATIVE_MAX);
    const double most = fmin(EXPOSURE_MAX_S, v->count_s * RELATIVE_MAX);
    if (isnan(*exposure_s))
        *exposure_s = v->count_s;
    if (!v->gated || (*exposure_s >= least && *exposure_s <= most))
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "%s: the exposure is out of range (got %.9g s); expected %.9g to %.9g s", what,
                     *exposure_s, least, most);
}

/* Refuses places of motors that the series cannot have. */
static enum status check_motors(const struct eiger *v, const char *what, struct error *e)
{
    const double z_um = keys_real(&v->keys, "braggpipe:config:sample_z"),
                 omega_deg = keys_real(&v->keys, "braggpipe:config:omega");
    if (!v->moves)
        return STATUS_OK;
    if (z_um >= v->distance_um)
        return error_set(e, STATUS_INPUT,
                         "%s: sample_z moves the sample to the detector (got %g um); expected less "
                         "than the detector_distance of the series (%g um)",
                         what, z_um, v->distance_um);
    if (omega_deg != v->axes.motor_deg && !axes_move_omega(&v->axes))
        return error_set(e, STATUS_INPUT,
                         "%s: omega has moved since arm, but %s rotates in this series (got %g "
                         "deg); expected %g deg. Send the command arm again",
                         what, v->axes.rotating, omega_deg, v->axes.motor_deg);
    return STATUS_OK;
}

/* Begins the exposures of a trigger, or notes the trigger if images of the previous one have not
 * left. */
static enum status take_trigger(struct eiger *v, const char *what, double exposure_s,
                                struct error *e)
{
    if (v->state != EIGER_READY && v->state != EIGER_ACQUIRE)
        return error_set(e, STATUS_INPUT,
                         "%s: the state is %s; expected ready. Send the command arm first", what,
                         keys_text(&v->keys, "detector:status:state"));
    enum status s = check_exposure(v, what, &exposure_s, e);
    s = s ? s : check_motors(v, what, e);
    if (s)
        return s;
    const struct eiger_trigger t = make_trigger(v, exposure_s);
    if (v->state == EIGER_READY) {
        begin_exposures(v, &t);
        return STATUS_OK;
    }
    if (v->answer_ns || v->queued)
        return error_set(e, STATUS_INPUT, "%s: the exposures of a trigger are not over", what);
    if (v->started == v->triggers)
        return error_set(e, STATUS_INPUT, "%s: the series has had all its triggers (%" PRIu64 ")",
                         what, v->triggers);
    v->queued = true;
    v->early = t;
    return STATUS_OK;
}

enum status eiger_trigger(struct eiger *v, bool pulse, double exposure_s, struct error *e)
{
    const char *what = pulse ? "pulse" : "trigger";
    const bool armed = v->state == EIGER_READY || v->state == EIGER_ACQUIRE;
    if (armed && v->external != pulse)
        return error_set(e, STATUS_INPUT, "%s: the trigger mode of the series is %s%s; expected %s",
                         what, v->external ? "ext" : "int", v->gated ? "e" : "s",
                         pulse ? "exts or exte" : "ints or inte");
    return take_trigger(v, what, exposure_s, e);
}

/* Simulates the next pulse of an external trigger, when the detector is ready for it. */
static void pulse_if_due(struct eiger *v)
{
    const double period_s = keys_real(&v->keys, "braggpipe:config:pulse_period");
    const uint64_t now_ns = clock_ns(), period_ns = (uint64_t)llround(period_s * 1e9);
    if (v->state != EIGER_READY || !v->external || now_ns < v->pulse_ns + period_ns ||
        strcmp(keys_text(&v->keys, "braggpipe:config:pulses"), "automatic") != 0)
        return;
    v->pulse_ns = now_ns;
    struct error e = {0};
    if (check_motors(v, "pulse", &e)) {
        eiger_fail_series_because(v, e.text);
        return;
    }
    const struct eiger_trigger t = make_trigger(v, v->count_s);
    begin_exposures(v, &t);
}

/* --- images --------------------------------------------------------------------- */

/* Returns when an image is due. */
static uint64_t due_ns(const struct eiger *v, uint64_t image)
{
    const uint64_t first = (v->started - 1) * v->per_trigger;
    return v->trigger_ns + (image < first ? 1 : image - first + 1) * v->frame_ns;
}

/* Returns the number of the current image; of an image whose number cannot be read, that of the
 * next one.  Images of a pipeline with faults may be missing, come twice or change places. */
static uint64_t image_number(const struct eiger *v)
{
    uint64_t number;
    return outlet_number(v->outlet, &number) && number < v->per_trigger * v->triggers ? number
                                                                                      : v->images;
}

/* Ends a trigger after its last image. */
static void end_trigger(struct eiger *v)
{
    late_end_trigger(v);
    if (v->started == v->triggers) {
        const bool waits = v->answer_ns;
        eiger_finish_series(v, EIGER_IDLE);
        if (waits)
            http_finish(v->http, HTTP_WAIT_TRIGGER, eiger_reply(v));
    } else if (v->queued) {
        begin_exposures(v, &v->early);
    } else {
        eiger_set_state(v, EIGER_READY);
    }
}

/* Returns true if the pipeline has ended well.  Its further images were lost on purpose. */
static bool has_no_more(const struct eiger *v, enum outlet_kind kind)
{
    return kind == OUTLET_END && v->child_ended && !v->child_failed;
}

/* Sends the current image. */
static void send_image(struct eiger *v, uint64_t image)
{
    if (v->stream == OUTLET_V2)
        header_take_date(v->outlet, v->date);
    late_note(v, due_ns(v, image));
    monitor_take(v->monitor, &v->keys, v->outlet, &v->facts, image);
    pass_on(v);
    v->images = image < v->images ? v->images : image + 1;
}

/* Counts an image that the pipeline loses on purpose. */
static void lose_image(struct eiger *v)
{
    keys_set(&v->keys, "braggpipe:status:lost", json_integer((json_int_t)++v->lost));
    v->images++;
    outlet_drop(v->outlet);
}

/* Sends the images that are due. */
static void send_images(struct eiger *v)
{
    while (v->state == EIGER_ACQUIRE) {
        const enum outlet_kind kind = outlet_message(v->outlet);
        const uint64_t image = kind == OUTLET_IMAGE ? image_number(v) : v->images;
        const uint64_t all = v->started * v->per_trigger;
        const bool lost = image >= all || has_no_more(v, kind);  // the last images of the trigger
        if (clock_ns() < due_ns(v, lost ? all - 1 : image))
            return;
        v->late.waits |= kind == OUTLET_NOTHING;
        late_warn(v);
        if (lost)
            v->images = all;
        else if (kind == OUTLET_IMAGE)
            send_image(v, image);
        else if (kind == OUTLET_LOST)
            lose_image(v);
        else
            return;
        if (v->cancels)
            eiger_end_series(v);
        else if (v->images >= all)
            end_trigger(v);
    }
}

/* Answers a trigger whose exposures are over. */
static void answer_trigger(struct eiger *v)
{
    if (!v->answer_ns || clock_ns() < v->answer_ns)
        return;
    v->answer_ns = 0;
    http_finish(v->http, HTTP_WAIT_TRIGGER, eiger_reply(v));
}

/* Returns true if a client waits for an image. */
static bool monitor_waits(const struct eiger *v)
{
    return http_waits(v->http, HTTP_WAIT_NEXT) || http_waits(v->http, HTTP_WAIT_NEWEST);
}

/* Returns true if messages of a series that is over may still come. */
static bool drops_messages(const struct eiger *v)
{
    bool any = false;
    for (int i = 0; i < EIGER_PAST_MAX; i++)
        any = any || v->past[i].rest;
    return any;
}

/* Ends a series whose bragg-serve has died and was started again: images of the dead process may
 * be lost. */
static void fail_if_restarted(struct eiger *v)
{
    const bool armed = v->state == EIGER_READY || v->state == EIGER_ACQUIRE;
    if (armed && outlet_message(v->outlet) == OUTLET_START)
        eiger_fail_series(v);
}

/* Ends a series whose pipeline would wait for ever: the lines of a trigger could not be written. */
static void fail_if_gate_is_lost(struct eiger *v)
{
    if (v->state == EIGER_ACQUIRE && v->gate && ferror(v->gate))
        eiger_fail_series_because(v, "trigger: cannot write the file that the pipeline waits for. "
                                     "Make room in the folder of TMPDIR");
}

int eiger_turn(struct eiger *v)
{
    eiger_reap(v);
    if (!v->child)
        return monitor_waits(v) || drops_messages(v) ? WAIT_MS : IDLE_MS;
    v->child_ended = v->child_ended || eiger_has_ended(v->child, &v->child_failed);
    const enum outlet_kind kind = outlet_message(v->outlet);
    if (v->state == EIGER_CONFIGURE && kind == OUTLET_START)
        begin_series(v);
    pulse_if_due(v);
    answer_trigger(v);
    send_images(v);
    fail_if_gate_is_lost(v);
    fail_if_restarted(v);
    if (v->child && v->child_ended && v->images < v->per_trigger * v->triggers) {
        const enum outlet_kind now = outlet_message(v->outlet);
        if (now != OUTLET_IMAGE && now != OUTLET_LOST && !has_no_more(v, now))
            eiger_fail_series(v);
    }
    monitor_turn(v->monitor, &v->keys, v->http);
    return WAIT_MS;
}
