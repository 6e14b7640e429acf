/* Starts the pipeline of a series: the values that the keys have at arm become options of stages.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "eiger.h"
#include "run/pipeline/find_program.h"

enum { WORDS_MAX = 64, PAST_LOOKS = 1000 };
static const double FRAMES_MAX = 1e9, MOVED_MAX = 1e6, FAR_M = 20;
/* Exposures that are longer than this part of the frame time last as long as the frame. */
static const double EXPOSED_WHOLE = 0.9999;

/* The command line of bragg-run.  The words are owned. */
struct words {
    char *text[WORDS_MAX];
    size_t count;
};

__attribute__((format(printf, 2, 3))) static void add_word(struct words *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (vasprintf(&w->text[w->count], format, args) >= 0)
        w->count++;
    va_end(args);
}

/* Returns how many images a trigger has.  If triggers define exposures, nimages counts as 1. */
static double keys_per_trigger(const struct eiger_keys *k)
{
    return keys_text(k, "trigger_mode")[3] == 'e' ? 1 : keys_real(k, "nimages");
}

static bool key_is(const struct eiger_keys *k, const char *name, const char *text)
{
    return strcmp(keys_text(k, name), text) == 0;
}

/* Refuses settings that the pipeline cannot simulate. */
static enum status check_settings(const struct eiger_keys *k, struct error *e)
{
    const double images = keys_per_trigger(k) * keys_real(k, "ntrigger");
    if (!(keys_real(k, "detector_distance") > 0))
        return error_set(e, STATUS_INPUT, "arm: detector_distance must be above 0 m (got 0)");
    if (!(keys_real(k, "detector_distance") * 1e6 > keys_real(k, "braggpipe:config:sample_z")))
        return error_set(
            e, STATUS_INPUT,
            "arm: sample_z moves the sample to the detector (got %g um); expected less "
            "than detector_distance (%g m)",
            keys_real(k, "braggpipe:config:sample_z"), keys_real(k, "detector_distance"));
    if (keys_real(k, "detector_distance") > FAR_M)
        log_line(LOG_WARNING, "detector_distance is %g m: the value is in m. Did you mean %g m?",
                 keys_real(k, "detector_distance"), 1e-3 * keys_real(k, "detector_distance"));
    const bool moves = key_is(k, "braggpipe:config:motors", "trigger");
    if (images > (moves ? MOVED_MAX : FRAMES_MAX))
        return error_set(e, STATUS_INPUT,
                         "arm: nimages times ntrigger is too large (got %g); expected at most %g%s",
                         images, moves ? MOVED_MAX : FRAMES_MAX,
                         moves ? " if triggers define where motors are" : "");
    if (key_is(k, "threshold/1/mode", "disabled") && key_is(k, "threshold/2/mode", "disabled"))
        return error_set(e, STATUS_INPUT, "arm: all thresholds are disabled; enable one");
    return STATUS_OK;
}

/* Adds the directions of the laboratory.  The convention xds has the usual spindle. */
static void add_directions(struct words *w, const struct eiger_axes *a)
{
    add_word(w, "--set=geometry.convention=%s", a->usual ? "xds" : "custom");
    if (a->usual)
        return;
    add_word(w, "--set=geometry.beam-vector=0,0,1");
    add_word(w, "--set=geometry.polarization-vector=1,0,0");
    add_word(w, "--set=geometry.fast-axis=1,0,0");
    add_word(w, "--set=geometry.slow-axis=0,1,0");
    add_word(w, "--set=geometry.twotheta-axis=1,0,0");
    add_word(w, "--set=geometry.pivot=sample");
    add_word(w, "--set=geometry.spindle=%.12g,%.12g,%.12g", a->spindle[0], a->spindle[1],
             a->spindle[2]);
}

/* Adds the rotation of the crystal and the place of the sample. */
static void add_goniometer(struct words *w, const struct eiger *v)
{
    const struct eiger_keys *k = &v->keys;
    const struct eiger_axes *a = &v->axes;
    const double exposed = v->count_s / keys_real(k, "frame_time");
    const double x_um = keys_real(k, "braggpipe:config:sample_x"),
                 y_um = keys_real(k, "braggpipe:config:sample_y"),
                 z_um = keys_real(k, "braggpipe:config:sample_z");
    if (!v->moves && (x_um != 0 || y_um != 0))
        add_word(w, "--set=orient.sample-at=%.12g,%.12g", x_um, y_um);
    if (!v->moves && z_um != 0)  // as if the detector moved to the sample
        add_word(w, "--set=orient.coffset=%.12g", -1e-3 * z_um);
    if (a->mounted)
        add_word(w, "--set=orient.mount=%.12g,%.12g,%.12g", a->mount_deg[0], a->mount_deg[1],
                 a->mount_deg[2]);
    add_word(w, "--set=orient.phi0=%.12g",
             a->start_deg + (!v->moves && axes_move_omega(a) ? a->motor_deg : 0));
    add_word(w, "--set=orient.osc=%.12g", a->step_deg);
    if (a->step_deg != 0 && !v->gated && exposed < EXPOSED_WHOLE)
        add_word(w, "--set=orient.exposed=%.12g", exposed);
}

static void add_experiment(struct words *w, const struct eiger *v)
{
    const struct eiger_keys *k = &v->keys;
    const double flux = keys_real(k, "total_flux"), count_s = keys_real(k, "count_time");
    add_word(w, "--set=geometry.detector=%s", keys_view(k)->detector);
    add_word(w, "--set=geometry.energy=%.12g", keys_real(k, "photon_energy"));
    add_word(w, "--set=geometry.distance=%.12g", 1e3 * keys_real(k, "detector_distance"));
    add_directions(w, &v->axes);
    add_word(w, "--set=geometry.orgx=%.12g", keys_real(k, "beam_center_x") + 0.5);
    add_word(w, "--set=geometry.orgy=%.12g", keys_real(k, "beam_center_y") + 0.5);
    add_word(w, "--set=geometry.flux=%.12g", flux > 0 ? flux : v->options.flux_hz);
    add_word(w, "--set=geometry.exposure=%.12g", count_s);
    if (keys_real(k, "two_theta_start") != 0)
        add_word(w, "--set=geometry.twotheta=%.12g", keys_real(k, "two_theta_start"));
    add_goniometer(w, v);
    add_word(w, "--set=noise.bits=%" PRIu64, keys_uint(k, "bit_depth_image"));
    add_word(w, "--set=noise.adc-offset=0");
    add_word(w, "--set=noise.saturation=%" PRIu64,
             keys_uint(k, "countrate_correction_count_cutoff"));
    if (keys_bool(k, "countrate_correction_applied"))
        return;
    add_word(w, "--set=noise.counter=%s",
             key_is(k, "counting_mode", "normal") ? "paralysable" : "nonparalysable");
    add_word(w, "--set=noise.dead-time=%d", COUNTER_DEAD_NS);
    add_word(w, "--set=noise.count-time=%.12g", 1e3 * count_s);
}

/* Adds the appendix of messages, "header" or "image": a text, or any other value as JSON. */
static void add_appendix(struct words *w, const struct eiger_keys *k, const char *message)
{
    char name[40];
    (void)snprintf(name, sizeof name, "stream:config:%s_appendix", message);
    char *text = keys_json(k, name);
    if (text && *text)
        add_word(w, "--set=serve.%s-appendix=%s", message, text);
    free(text);
}

static void add_stream(struct words *w, const struct eiger *v, const char *endpoint)
{
    const struct eiger_keys *k = &v->keys;
    const bool one = key_is(k, "threshold/1/mode", "enabled"),
               two = key_is(k, "threshold/2/mode", "enabled");
    const double first_eV = keys_real(k, one ? "threshold/1/energy" : "threshold/2/energy");
    add_word(w, "--set=serve.protocol=dectris%d", v->stream == OUTLET_V1 ? 1 : 2);
    add_word(w, "--set=serve.bind=%s", endpoint);
    add_word(w, "--set=serve.series=%" PRIu64, v->number);
    add_word(w, "--set=serve.source=%s", keys_text(k, "description"));
    add_word(w, "--set=serve.compression=%s", keys_text(k, "compression"));
    add_word(w, "--set=serve.header-detail=%s", keys_text(k, "stream:config:header_detail"));
    add_word(w, "--set=serve.dtype=uint%" PRIu64, keys_uint(k, "bit_depth_image"));
    add_word(w, "--set=serve.frame-time=%.12g", keys_real(k, "frame_time"));
    add_word(w, "--set=serve.count-time=%.12g", keys_real(k, "count_time"));
    if (v->stream == OUTLET_V2 && one && two)
        add_word(w, "--set=serve.thresholds=%.12g,%.12g", first_eV,
                 keys_real(k, "threshold/2/energy"));
    else
        add_word(w, "--set=serve.thresholds=%.12g", first_eV);
    if (v->stream == OUTLET_V2 && !one)
        add_word(w, "--set=serve.first-channel=2");
    add_appendix(w, k, "header");
    add_appendix(w, k, "image");
}

/* Adds the pixel mask of the client, which the pipeline reads from a file. */
static enum status add_mask(struct words *w, struct eiger *v, struct error *e)
{
    char path[PATH_MAX + 8];
    if (keys_bool(&v->keys, "mask_to_zero"))
        add_word(w, "--set=serve.mask-to-zero");
    const struct eiger_mask *mask = mask_of(v);
    if (!mask->user || !keys_bool(&v->keys, "pixel_mask_applied"))
        return STATUS_OK;
    eiger_name_file(v, ".mask", path, sizeof path);
    add_word(w, "--set=serve.pixel-mask=%s", path);
    return mask_write(mask, path, e);
}

/* Makes the file with the exposures and positions of triggers, which the pipeline waits for. */
static enum status add_gate(struct words *w, struct eiger *v, struct error *e)
{
    char path[PATH_MAX + 8];
    if (!v->gated && !v->moves)
        return STATUS_OK;
    eiger_name_file(v, ".gate", path, sizeof path);
    v->gate = fopen(path, "we");
    if (!v->gate)
        return error_errno(e, STATUS_FAILED, "arm: cannot make %.400s", path);
    add_word(w, "--set=orient.gate=%s", path);
    if (v->moves)
        add_word(w, "--set=orient.gate-z");
    add_word(w, "--set=serve.early-start");
    add_word(w, "--set=serve.mark-lost");
    return STATUS_OK;
}

/* Adds the table of the ground truth, if it is enabled, and makes the folder for files. */
static enum status add_truth(struct words *w, struct eiger *v, struct error *e)
{
    char path[PATH_MAX];
    v->writes = key_is(&v->keys, "filewriter:config:mode", "enabled");
    v->tells = key_is(&v->keys, "braggpipe:config:truth", "enabled");
    files_name_truth(&v->files, v->number, 0, path, sizeof path);
    (void)unlink(path);  // of an earlier series of this number
    files_name_truth(&v->files, v->number, v->run, path, sizeof path);
    if (v->tells)
        add_word(w, "--set=serve.sent=%s", path);
    return v->writes || v->tells ? files_begin(&v->files, v->run, e) : STATUS_OK;
}

/* Stores the command that computes the images of the series.  It has no more than the options that
 * the images depend on, which are the words from `first` on, before the word `last`. */
static void take_lineage(struct eiger *v, const struct words *w, size_t first, size_t last)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    (void)fputs("bragg-run", out);
    for (size_t i = first; i < last; i++) {
        (void)fputc(' ', out);
        words_print(w->text[i], out);
    }
    (void)fputc(' ', out);
    words_print(v->options.pipeline, out);
    if (fclose(out) == 0)
        keys_set(&v->keys, "braggpipe:status:lineage", json_string(text));
    free(text);
}

/* Adds the pipeline file: a copy with a stage more if the filewriter is enabled. */
static enum status add_pipeline(struct words *w, struct eiger *v, struct error *e)
{
    char path[PATH_MAX + 8];
    eiger_name_file(v, ".yaml", path, sizeof path);
    add_word(w, "%s", v->writes ? path : v->options.pipeline);
    return v->writes ? files_add_stage(&v->files, &v->keys, v->options.pipeline, v->number, v->run,
                                       path, e)
                     : STATUS_OK;
}

/* Waits until earlier pipelines that have to end have ended, because they may have ports that the
 * new one needs, such as that of bragg-view.  A pipeline that still writes files is not waited
 * for. */
static void await_past(const struct eiger *v)
{
    static const struct timespec look = {.tv_nsec = 5000000};
    for (int looks = 0; looks < PAST_LOOKS; looks++) {
        bool runs = false;
        for (int i = 0; i < EIGER_PAST_MAX; i++)
            runs |= v->past[i].child && v->past[i].stopped && kill(v->past[i].child, 0) == 0;
        if (!runs)
            return;
        (void)nanosleep(&look, NULL);
    }
}

/* Becomes bragg-run, in a process group of its own, with its messages in a file. */
static void become_run(const struct eiger *v, char *program, char **words, const char *log)
{
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int file = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    (void)setpgid(0, 0);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);  // ends the wait
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    await_past(v);
    if (null < 0 || file < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(file, 2) < 0)
        _exit(STATUS_FAILED);
    (void)execvp(program, words);
    _exit(STATUS_FAILED);
}

static enum status start_child(struct eiger *v, struct words *w, struct error *e)
{
    char log[PATH_MAX + 8];
    char *program = program_find("bragg-run");
    if (!program)
        return error_set(e, STATUS_FAILED, "arm: the program 'bragg-run' is not found");
    free(w->text[0]);
    w->text[0] = mem_text("%s", program);
    (void)snprintf(log, sizeof log, "%s.log", v->series_folder);
    v->child = fork();
    if (v->child == 0)
        become_run(v, program, w->text, log);
    mem_free(program);
    if (v->child > 0)
        return STATUS_OK;
    v->child = 0;
    return error_errno(e, STATUS_FAILED, "arm: cannot start bragg-run");
}

/* Stores the values of the configuration that hold for the whole series. */
static void take_settings(struct eiger *v)
{
    struct eiger_keys *k = &v->keys;
    keys_set_date(k, "data_collection_date");
    keys_set(k, "detector:status:error", json_array());
    v->stream = key_is(k, "stream:config:format", "cbor") ? OUTLET_V2 : OUTLET_V1;
    v->sends = key_is(k, "stream:config:mode", "enabled");
    v->headed = v->stream == OUTLET_V1 && !key_is(k, "stream:config:header_detail", "none");
    v->settings = keys_settings(k);
    monitor_describe(&v->facts, k, v->number, v->stream);
    const char *mode = keys_text(k, "trigger_mode");
    v->gated = mode[3] == 'e';
    v->external = strncmp(mode, "ext", 3) == 0;
    v->moves = key_is(k, "braggpipe:config:motors", "trigger");
    v->count_s = keys_real(k, "count_time");
    v->retriggers = key_is(k, "counting_mode", "retrigger");
    v->cutoff = keys_uint(k, "countrate_correction_count_cutoff");
    v->distance_um = 1e6 * keys_real(k, "detector_distance");
    v->per_trigger = (uint64_t)keys_per_trigger(k);
    v->triggers = keys_uint(k, "ntrigger");
    v->frame_ns = (uint64_t)llround(keys_real(k, "frame_time") * 1e9);
    v->delay_ns = (uint64_t)llround(keys_real(k, "trigger_start_delay") * 1e9);
    v->images = v->started = v->dropped = v->lost = 0;
    keys_set(k, "stream:status:dropped", json_integer(0));
    keys_set(k, "braggpipe:status:lost", json_integer(0));
    late_begin(v);
}

enum status eiger_arm(struct eiger *v, struct error *e)
{
    char endpoint[PATH_MAX + 32];
    struct words w = {0};
    struct eiger_axes axes;
    enum status s = check_settings(&v->keys, e);
    s = s ? s : axes_take(&v->keys, &axes, e);
    if (s)
        return s;
    eiger_end_series(v);
    v->axes = axes;
    v->number++;
    v->run++;
    take_settings(v);
    (void)snprintf(v->series_folder, sizeof v->series_folder, "%.4000s/%" PRIu64, v->folder,
                   v->run);
    (void)snprintf(endpoint, sizeof endpoint, "ipc://%s/serve%" PRIu64, v->folder, v->run);
    add_word(&w, "bragg-run");
    add_word(&w, "--quiet");
    add_word(&w, "--workdir=%s", v->series_folder);
    const size_t first = w.count;
    add_word(&w, "--frames=%" PRIu64, v->per_trigger * v->triggers);
    add_experiment(&w, v);
    take_lineage(v, &w, first, w.count);
    add_stream(&w, v, endpoint);
    s = add_mask(&w, v, e);
    s = s ? s : add_truth(&w, v, e);
    s = s ? s : add_gate(&w, v, e);
    s = s ? s : add_pipeline(&w, v, e);
    s = s ? s : outlet_connect(v->outlet, endpoint, e);
    s = s ? s : start_child(v, &w, e);
    for (size_t i = 0; i < w.count; i++)
        free(w.text[i]);
    eiger_set_state(v, s ? EIGER_ERROR : EIGER_CONFIGURE);
    return s;
}
