/* The parts of bragg-eiger: the states of the detector, the series that is armed with its pipeline,
 * its triggers and the images that are due, and what clients get besides the stream. */
#ifndef BRAGG_EIGER_H
#define BRAGG_EIGER_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "eiger_http.h"
#include "gateway/dectris.h"
#include "gateway/outlet.h"

/*
 * --- the key tree (eiger_keys.c) ---------------------------------------------------------
 *
 * Values that clients read and write, and what changes with them.
 */

enum { EIGER_KEYS_MAX = 160 };

/* A model of detector. */
struct eiger_model {
    const char *detector;              // of bragg-geometry --detector
    const char *description;           // as the detector reports it
    int64_t fast, slow;                // pixels
    double fastest_s;                  // shortest frame time
    const struct eiger_model *middle;  // with the pixels that roi_mode 4M reads; NULL: no such mode
};

/* The values, in the order of the rows of the table. */
struct eiger_keys {
    const struct eiger_model *model;
    json_t *values[EIGER_KEYS_MAX];  // owned
};

/* Returns the model that has the pixels of images: the whole detector, or its middle. */
const struct eiger_model *keys_view(const struct eiger_keys *keys);

/* Finds the model with the name of an option of bragg-eiger, counted from 0. */
const struct eiger_model *eiger_model(int index);
#define EIGER_MODELS "eiger2-500k|eiger2-1m|eiger2-4m|eiger2-9m|eiger2-16m"

/* Returns the place of a word, from 0, in a text of words with a separator between them.  -1: the
 * text does not contain the word. */
int find_word(const char *words, char separator, const char *word);

/* Appends the words of a text to a list. */
void list_append_words(json_t *list, const char *words, char separator);

/* Sets all values to their defaults.  keys->model must be set. */
void keys_reset(struct eiger_keys *keys);
/* Sets the values of one part, such as "monitor", to their defaults. */
void keys_reset_part(struct eiger_keys *keys, const char *sub);
void keys_free(struct eiger_keys *keys);

/* Returns the value of a key of the detector, or of "stream/config/mode" and the like. */
double keys_real(const struct eiger_keys *keys, const char *name);
uint64_t keys_uint(const struct eiger_keys *keys, const char *name);
bool keys_bool(const struct eiger_keys *keys, const char *name);
const char *keys_text(const struct eiger_keys *keys, const char *name);

/* Stores the numbers of a list. */
void keys_reals(const struct eiger_keys *keys, const char *name, double *values, size_t count);

/* Returns a text as it is, and any other value as JSON.  The caller frees it with free. */
char *keys_json(const struct eiger_keys *keys, const char *name);

/* Sets a value without a check. */
void keys_set(struct eiger_keys *keys, const char *name, json_t *value);

/* Sets a key to the date and time of now. */
void keys_set_date(struct eiger_keys *keys, const char *name);

/* Returns the answer to GET of a key, a JSON object that the caller owns.  Returns NULL if the key
 * does not exist. */
json_t *keys_get(const struct eiger_keys *keys, const char *sub, const char *task,
                 const char *name);

/* Returns the names of all listed keys; `values`: an object with their answers instead. */
json_t *keys_list(const struct eiger_keys *keys, const char *sub, const char *task, bool values);

/* Sets a key of `config`, and the keys that follow from it, and adds the keys that may have changed
 * to the list *changed.  Returns STATUS_USAGE if the key does not exist, and STATUS_INPUT if
 * clients cannot set it to this value.  After an error nothing is changed. */
enum status keys_put(struct eiger_keys *keys, const char *sub, const char *name,
                     const json_t *value, json_t *changed, struct error *e);

/* Returns the settings that the header message of Stream V1 reports, as JSON.  The caller frees the
 * text with free. */
char *keys_settings(const struct eiger_keys *keys);

/* --- counters that lose photons (eiger_counter.c) ---------------------------------------- */

/* The dead time of a pixel in ns, the largest rate that counters follow, in counts per second, and
 * the number of rows of the table of rates. */
enum { COUNTER_DEAD_NS = 70, COUNTER_RATES = 1152 };
#define COUNTER_MOST_HZ 1.151e7

/* Returns the table of Stream V1: COUNTER_RATES rows of a true and a measured rate.  `retriggers`:
 * counting_mode is retrigger.  The caller frees it with free.  NULL: out of memory. */
float *counter_rates(bool retriggers);

/* Returns the table of Stream V2: item n is the true number of photons of n measured ones, at most
 * `cutoff`.  *count: number of items.  The caller frees it with free.  NULL: out of memory. */
uint32_t *counter_counts(bool retriggers, double count_s, uint64_t cutoff, size_t *count);

/* --- the goniometer (eiger_axes.c) ------------------------------------------------------- */

/* The axes of a series.  Directions are in the laboratory frame of bragg-geometry with the
 * convention xds. */
struct eiger_axes {
    const char *rotating;        // name of the axis that rotates; "omega" if none does
    double start_deg, step_deg;  // its angle at the first image, and its increment
    double motor_deg;            // what the key omega of braggpipe adds to omega_start
    double spindle[3];           // direction of this axis
    double mount_deg[3];         // rotation of the crystal by all other axes: about x, y, then z
    bool usual, mounted;         // the spindle is along x; the rotation is not 0
};

/* Sets *axes to what the keys define.  STATUS_INPUT: two axes would rotate. */
enum status axes_take(const struct eiger_keys *keys, struct eiger_axes *axes, struct error *e);

/* Returns true if omega rotates, so that motors can move omega between triggers. */
bool axes_move_omega(const struct eiger_axes *axes);

/* --- the monitor (eiger_monitor.c) ------------------------------------------------------- */

enum { MONITOR_CHANNELS_MAX = 2, MONITOR_UNIQUE_SIZE = 27 };

/* Facts about a series that the monitor writes into the TIFF file of each image. */
struct monitor_series {
    uint64_t number;
    char unique[MONITOR_UNIQUE_SIZE];
    int nchannels, threshold[MONITOR_CHANNELS_MAX];  // numbers of the thresholds, from 1
    double threshold_eV[MONITOR_CHANNELS_MAX];
    double count_s, energy_eV, wavelength_A, beam_center[2];
};

struct monitor;

struct monitor *monitor_open(void);
void monitor_close(struct monitor *m);

/* Sets *s to what the keys report now about the series with this number. */
void monitor_describe(struct monitor_series *s, const struct eiger_keys *keys, uint64_t number,
                      enum outlet_stream stream);

/* Takes a copy of the current image of the outlet into the buffer, if the monitor is enabled.  If
 * the buffer is full, the keys decide which image is dropped. */
void monitor_take(struct monitor *m, struct eiger_keys *keys, struct outlet *o,
                  const struct monitor_series *series, uint64_t image);

/* Removes all images, and sets the counter of dropped images to 0.  `all`: also the newest image,
 * which clients see even if it is not in the buffer. */
void monitor_clear(struct monitor *m, struct eiger_keys *keys, bool all);

/* Answers a request: /images, /images/next, /images/monitor or /images/SERIES/IMAGE[/THRESHOLD].
 * `name` is the path after /images, "" if there is none.  Returns false if there is no such
 * path. */
bool monitor_answer(struct monitor *m, struct eiger_keys *keys, char *name, const char *query,
                    struct http_reply *reply);

/* Answers requests that wait for an image that has arrived. */
void monitor_turn(struct monitor *m, struct eiger_keys *keys, struct http *http);

/* --- the pixel mask and the flat field (eiger_mask.c) ------------------------------------ */

/* The pixel mask.  A word of 0 means a good pixel. */
struct eiger_mask {
    size_t fast, slow;  // pixels of the detector
    uint32_t *words;    // owned: of the detector, 1 in gaps
    uint32_t *user;     // owned: words that a client has set; NULL: none
    size_t gaps;        // pixels in gaps
    size_t masked;      // pixels that the gaps or the client mask
};

/* Makes the mask of a model.  The caller ends it with mask_close. */
void mask_open(struct eiger_mask *m, const struct eiger_model *model);
void mask_close(struct eiger_mask *m);

/* Removes the words that a client has set. */
void mask_reset(struct eiger_mask *m);

/* Returns the largest number of bytes of a request that sets the mask. */
size_t mask_body_max(const struct eiger_mask *m);

/* The text of the member "data" of a darray, borrowed.  NULL: it is in the JSON. */
struct mask_data {
    const char *text;
    size_t length;
};

/* Returns a body without the text of its first member "data", and stores that text: a JSON library
 * needs seconds for 100 MB.  The text stays in the body if it has escapes.  The caller frees the
 * result with free.  NULL: out of memory. */
char *mask_cut_data(const char *body, struct mask_data *data);

/* Sets the words of a client, which replace earlier ones, from a darray.  STATUS_INPUT: the value
 * is not a darray of the size of the detector, or no pixel is left.  After an error nothing is
 * changed. */
enum status mask_put(struct eiger_mask *m, const json_t *value, struct mask_data data,
                     struct error *e);

/* Return the mask, and the flat field, which is 1, as answers to GET.  The caller frees the text
 * with free.  NULL: out of memory. */
char *mask_answer(const struct eiger_mask *m);
char *mask_answer_flat(const struct eiger_mask *m);

struct eiger;

/* Returns the mask of the pixels that images have now. */
struct eiger_mask *mask_of(struct eiger *v);

/* Sets the keys that count masked pixels, after a mask or roi_mode has changed. */
void mask_count(struct eiger *v);

/* Writes the words of the client, which must exist, as the file of bragg-serve --pixel-mask. */
enum status mask_write(const struct eiger_mask *m, const char *path, struct error *e);

/* --- the filewriter (eiger_files.c) ------------------------------------------------------ */

struct eiger_files {
    char folder[PATH_MAX];  // "": not made
};

/* Makes the folder for files in an existing folder.  STATUS_FAILED: it cannot be made. */
enum status files_open(struct eiger_files *f, const char *parent, struct error *e);

/* Makes the folder in which the pipeline `run` writes files.  STATUS_FAILED: it cannot be made. */
enum status files_begin(const struct eiger_files *f, uint64_t run, struct error *e);

/* Writes the path of the table with the ground truth of a series: where the pipeline `run` writes
 * it, or, with 0, where clients take it when the series has ended. */
void files_name_truth(const struct eiger_files *f, uint64_t number, uint64_t run, char *path,
                      size_t size);

/* Writes a copy of the pipeline file to `path`, with a stage more: bragg-write, whose files have
 * the name that the keys give for the series `number`.  `run`: number of the pipeline, which no
 * other pipeline of the program has.  `pipeline`: path of a pipeline file, or
 * name of a pipeline that ships.  STATUS_INPUT: the pipeline has no stage serve, or is invalid.
 * STATUS_FAILED: a file cannot be read or written. */
enum status files_add_stage(const struct eiger_files *f, const struct eiger_keys *keys,
                            const char *pipeline, uint64_t number, uint64_t run, const char *path,
                            struct error *e);

/* Moves the files of a pipeline to the others, so that clients see them, when bragg-write has
 * ended. A file of the same name is replaced.  Prints a warning if a file cannot be moved. */
void files_collect(const struct eiger_files *f, uint64_t run);

/* Sets the key with the names of the files that clients can take. */
void files_list(const struct eiger_files *f, struct eiger_keys *keys);

/* Removes the files that clients can take.  bragg-write may be writing others. */
void files_clear(const struct eiger_files *f);

/* Answers a request for a file: GET, HEAD or DELETE.  A DELETE does not stop the answer to an
 * earlier GET.  Returns false if there is no complete file of this name. */
bool files_answer(const struct eiger_files *f, const struct http_request *request, const char *name,
                  struct http_reply *reply);

/* --- the detector and its series (eiger_series.c) ------------------------------------- */

enum eiger_state { EIGER_NA, EIGER_IDLE, EIGER_CONFIGURE, EIGER_READY, EIGER_ACQUIRE, EIGER_ERROR };

enum { EIGER_PAST_MAX = 8 };

struct eiger_options {
    const char *bind, *host, *pipeline;
    double energy_eV, distance_mm, flux_hz;
    int detector, stream;
    int64_t ports[OUTLET_STREAMS];
    bool initialized, insecure;
};

/* The images of a series that left after they were due, because the pipeline was too slow. */
struct eiger_late {
    uint64_t images, longest_ns;  // their number, and the longest delay
    uint64_t exposed_ns;          // time from triggers to their last images, of all that are over
    bool waits;                   // the next image is due, but has not arrived
    bool warned;
};

/* What a trigger defines for its images. */
struct eiger_trigger {
    double exposure_s;    // in the modes inte and exte
    double sample_um[2];  // place on the sample holder
    double start_deg;     // angle of the axis that rotates at the first image
    double along_um;      // how far the sample is moved towards the detector
};

/* A pipeline that has to end, with its folder. */
struct eiger_past {
    pid_t child;
    char folder[PATH_MAX];
    uint64_t since_ns, limit_ns;  // when it had to end; after this time it is killed
    uint64_t run;                 // its number
    bool writes;                  // the filewriter is enabled
    bool stopped;                 // a signal ends it; it does not write files to their end
    struct outlet *rest;          // owned: its last messages, which are dropped; NULL: none come
};

struct eiger {
    struct eiger_options options;
    struct eiger_keys keys;
    struct eiger_mask masks[2];  // of the whole detector, and of its middle
    struct eiger_files files;
    struct monitor *monitor;
    struct http *http;
    struct outlet *outlet;
    char folder[PATH_MAX];  // of all series; "": not made
    enum eiger_state state;
    uint64_t number;  // of the series, from 1; 0 after initialize
    uint64_t run;     // of the pipeline, from 1: names its folders, because old ones may still end
    pid_t child;      // bragg-run; 0: none
    bool child_ended, child_failed;  // the latter: with a status other than 0
    char series_folder[PATH_MAX];
    enum outlet_stream stream;
    bool sends, headed;           // Stream is enabled; the header has a part with settings
    bool writes, tells;           // the filewriter, and the table of the ground truth, are enabled
    char *settings;               // owned: of V1, as they were at arm
    struct monitor_series facts;  // what images of the monitor report
    uint64_t per_trigger, triggers, frame_ns, delay_ns;
    uint64_t images, started;  // images that have left, triggers that have begun
    uint64_t trigger_ns,
        answer_ns;         // begin of the exposures; when the trigger is answered, 0: never
    bool queued, cancels;  // a trigger came too early; the series ends after the next image
    bool external, gated;  // pulses trigger; each trigger defines the exposure of its only image
    bool moves;            // triggers define where the motors of the sample holder are
    bool retriggers;       // counting_mode is retrigger
    uint64_t cutoff;       // countrate_correction_count_cutoff
    double count_s, distance_um;  // count_time and detector_distance at arm
    struct eiger_axes axes;       // of the goniometer, as they were at arm
    struct eiger_trigger early;   // the trigger that came too early
    uint64_t pulse_ns;            // when the last simulated pulse came, or the series was armed
    FILE *gate;              // a line for each image of triggers: bragg-orient --gate; NULL: none
    uint64_t dropped, lost;  // images that no client took; images that the pipeline lost
    char date[DECTRIS_DATE_SIZE];  // of the first trigger
    struct eiger_late late;
    struct eiger_past past[EIGER_PAST_MAX];
};

/* Sets the configuration to its defaults, the number of the series to 0 and the state to idle. */
void eiger_initialize(struct eiger *v);

/* Does the same, but the state becomes na, as after the detector is switched on. */
void eiger_restart(struct eiger *v);

/* Sets the keys of the filewriter, which are its state and the names of its files, and the path of
 * the table with the ground truth. */
void eiger_show_files(struct eiger *v);

/* Changes the state, and the keys that report it. */
void eiger_set_state(struct eiger *v, enum eiger_state state);

/* Ends the series and its pipeline.  The caller answers requests that wait for the series. */
void eiger_finish_series(struct eiger *v, enum eiger_state state);

/* Reports that the pipeline has failed, with its last message. */
void eiger_fail_series(struct eiger *v);

/* Reports that the series has failed, for the reason `text`. */
void eiger_fail_series_because(struct eiger *v, const char *text);

/* Removes the folders of pipelines that have ended, drops the last messages of the other
 * pipelines, and kills those that do not end. */
void eiger_reap(struct eiger *v);

/* Returns true if a child process has ended.  *failed: with a status other than 0. */
bool eiger_has_ended(pid_t child, bool *failed);

/* Removes the file with the pixel mask, which the pipeline reads only at its start. */
void eiger_remove_mask(const struct eiger *v);

/* Ends the series at once, if there is one.  The state becomes idle. */
void eiger_end_series(struct eiger *v);

/* Ends the series after the next image. */
void eiger_cancel(struct eiger *v);

/* Ends all pipelines and removes their folders. */
void eiger_close(struct eiger *v);

/* Returns the answer of a command about the series.  The caller owns the text, of malloc. */
char *eiger_sequence(const struct eiger *v);

/* Returns the answer of a command that waited for the series. */
struct http_reply eiger_reply(const struct eiger *v);

/* Late images leave as they come, in their order, and are counted. */

/* Records that the current image leaves now, at least `due_ns`.  Call this before v->images counts
 * the image.  An image whose exposure its trigger defines is never late, because the pipeline can
 * only begin with it then. */
void late_note(struct eiger *v, uint64_t due_ns);

/* Prints a line, once in a series, if ten seconds or more after a trigger more than 5 % of the
 * images that are due, and more than two, have not left. */
void late_warn(struct eiger *v);

/* Records that the last image of a trigger has left. */
void late_end_trigger(struct eiger *v);

/* Forgets the late images of the previous series. */
void late_begin(struct eiger *v);

/* Writes the path of a private file of the series, which is that of its folder with this ending. */
void eiger_name_file(const struct eiger *v, const char *ending, char *path, size_t size);

/* --- the pipeline of a series (eiger_arm.c) ------------------------------------------- */

/* Starts the pipeline of the next series.  A series that was armed ends.  Returns STATUS_INPUT if
 * the pipeline cannot simulate the configuration, and STATUS_FAILED if bragg-run cannot start. */
enum status eiger_arm(struct eiger *v, struct error *e);

/* --- header messages (eiger_header.c) ------------------------------------------------ */

/* Puts the values that the keys had at arm into the header message, which is the current message
 * of the outlet, and stores the unique id of the series. */
void header_take(struct eiger *v);

/* Writes the time of the first trigger, of DECTRIS_DATE_SIZE at most, into the current message of
 * the outlet, which is an image of Stream V2. */
void header_take_date(struct outlet *o, const char *date);

/* --- triggers and exposures (eiger_expose.c) ---------------------------------------- */

/* Does the work of the command trigger in the modes ints and inte, or with `pulse` of a pulse of
 * the external trigger in the modes exts and exte.  `exposure_s` is the exposure that the trigger
 * defines in the modes inte and exte; NAN: count_time.  Returns STATUS_INPUT if the state or the
 * mode allows no trigger, or if the exposure is out of range. */
enum status eiger_trigger(struct eiger *v, bool pulse, double exposure_s, struct error *e);

/* Receives messages of the pipeline, sends images that are due, and answers requests that wait.
 * Returns the time until its next call in ms. */
int eiger_turn(struct eiger *v);

/* --- requests (eiger_routes.c) ------------------------------------------------------ */

/* Answers a request of SIMPLON.  A http_handler; the state is a struct eiger. */
void eiger_answer(void *state, struct http_request *request, struct http_reply *reply);

#endif
