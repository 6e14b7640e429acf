/*
 * Small stages for the tests of the runtime, selected by the first argument:
 *
 *   first  -> one panel of --pixels^2 pixels; pauses before it ends
 *   source -> --frames recipes, numbered in steps of --step
 *   make   -> images: pixel i of frame n is n + i
 *   work   -> images, each pixel + 1
 *   pass   -> unchanged images
 *   sink   -> one text file per frame in the folder given: id and sum; --resume counts the files
 *             that exist
 *   tap    -> the same, but the run does not wait for it
 *   count  -> one file "total" in the folder given: number of frames, and the sum of all pixels
 *   relay  -> like work, but new images; reads the old ones after the pause
 *   hand   -> unchanged images, in the memory where they are
 *   file   -> like sink, from the pixels where they are; reads them after the pause
 *
 * --slow-every=N lets only every Nth frame sleep.  --log=FILE appends the number of each frame.
 * --spin uses the CPU instead of sleeping.  --card=FOLDER gives make, relay and hand a GPU
 * (folder_card.h).  --missum-at=N makes `make` report a wrong checksum at that frame.
 *
 * --sleep=MS slows a stage down.  --fail-at=N makes it fail at that frame, --die-at=N kills it
 * there, --crash-at=N makes it crash there, --starve-at=N lets its memory run out there.
 * --stall-from=N stops it there or at the first frame after that.
 */
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "folder_card.h"
#include "stage/stage.h"

struct test {
    int64_t frames, step, pixels, sleep_ms, fail_at, die_at, crash_at, starve_at, stall_from,
        missum_at, slow_every;
    bool spin, misplaced;
    const char *folder, *log, *card_folder;
    struct folder_card card;
    uint64_t count;  // count: frames, and the sum of their pixels as whole numbers
    uint64_t sum;
};

#define AT(member) offsetof(struct test, member)
static const struct opt options[] = {
    {"frames", "N", "How many", OPT_INT, AT(frames), .min = 0, .max = 1e9, .flags = OPT_BYTES,
     .usual = "10"},
    {"step", "N", "Number every Nth", OPT_INT, AT(step), .min = 1, .max = 1e9, .usual = "1"},
    {"pixels", "N", "Edge of the panel", OPT_INT, AT(pixels), .min = 1, .max = 1e5,
     .flags = OPT_BYTES, .usual = "8"},
    {"sleep", "MS", "Milliseconds per frame", OPT_INT, AT(sleep_ms), .min = 0, .max = 1e6,
     .usual = "0"},
    {"slow-every", "N", "Only every Nth frame sleeps", OPT_INT, AT(slow_every), .min = 1,
     .max = 1e9, .usual = "1"},
    {"spin", NULL, "Use the CPU instead of sleeping", OPT_FLAG, .offset = AT(spin)},
    {"misplaced", NULL, "The panel does not begin at the first pixel", OPT_FLAG,
     .offset = AT(misplaced)},
    {"log", "FILE", "Append the number of each frame", OPT_TEXT, .offset = AT(log)},
    {"card", "FOLDER", "A card whose memory is files", OPT_TEXT, .offset = AT(card_folder)},
    {"fail-at", "N", "Fail at this frame; -1: never", OPT_INT, AT(fail_at), .min = -1, .max = 1e9,
     .usual = "-1"},
    {"die-at", "N", "Die at this frame; -1: never", OPT_INT, AT(die_at), .min = -1, .max = 1e9,
     .usual = "-1"},
    {"crash-at", "N", "Crash at this frame; -1: never", OPT_INT, AT(crash_at), .min = -1,
     .max = 1e9, .usual = "-1"},
    {"starve-at", "N", "Run out of memory at this frame; -1: never", OPT_INT, AT(starve_at),
     .min = -1, .max = 1e9, .usual = "-1"},
    {"stall-from", "N", "Stop from this frame on; -1: never", OPT_INT, AT(stall_from), .min = -1,
     .max = 1e9, .usual = "-1"},
    {"missum-at", "N", "Report a wrong checksum at this frame; -1: never", OPT_INT, AT(missum_at),
     .min = -1, .max = 1e9, .usual = "-1"},
    {0},
};

static enum status test_open(void *state, const char **operands, int noperands, struct error *e)
{
    (void)e;
    if (noperands)
        ((struct test *)state)->folder = operands[0];
    return STATUS_OK;
}

static enum status first_begin(void *state, struct experiment *x, struct error *e)
{
    const struct test *t = state;
    (void)e;
    x->panels = mem_array(1, sizeof *x->panels);
    x->crystals = mem_array(1, sizeof *x->crystals);
    x->npanels = x->ncrystals = 1;
    x->panels[0] = (struct panel){.fast_pixels = t->pixels, .slow_pixels = t->pixels, .layers = 1};
    x->panels[0].first_pixel = t->misplaced;
    x->panels[0].roi = (struct roi){0, t->pixels - 1, 0, t->pixels - 1};
    return STATUS_OK;
}

static void first_close(void *state)
{
    const struct test *t = state;
    const struct timespec pause = {t->sleep_ms / 1000, t->sleep_ms % 1000 * 1000000};
    (void)nanosleep(&pause, NULL);
}

static enum status source_list(void *state, struct id_set *ids, struct error *e)
{
    const struct test *t = state;
    (void)e;
    for (uint64_t i = 0; i < (uint64_t)t->frames; i++)
        id_set_add(ids, i * (uint64_t)t->step);
    return STATUS_OK;
}

static enum status pause_or_fail(const struct test *t, const struct frame *f, struct error *e)
{
    const bool fast = t->slow_every > 1 && f->recipe.id % (uint64_t)t->slow_every;
    const int64_t ms = fast ? 0 : t->sleep_ms;
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    const uint64_t end_ns = clock_ns() + (uint64_t)ms * 1000000;
    while (t->spin && clock_ns() < end_ns)
        continue;
    if (!t->spin)
        (void)nanosleep(&pause, NULL);
    FILE *log = t->log ? fopen(t->log, "a") : NULL;
    if (log) {
        fprintf(log, "%" PRIu64 "\n", f->recipe.id);
        (void)fclose(log);
    }
    if (t->die_at >= 0 && f->recipe.id == (uint64_t)t->die_at)
        (void)raise(SIGKILL);
    if (t->crash_at >= 0 && f->recipe.id == (uint64_t)t->crash_at) {
        log_line(LOG_ERROR, "frame %" PRIu64 ": crashing as asked", f->recipe.id);
        abort();
    }
    if (t->starve_at >= 0 && f->recipe.id == (uint64_t)t->starve_at)
        mem_free(mem_array(SIZE_MAX, 2));
    while (t->stall_from >= 0 && f->recipe.id >= (uint64_t)t->stall_from)
        (void)sleep(1000);
    if (t->fail_at >= 0 && f->recipe.id == (uint64_t)t->fail_at)
        return error_set(e, STATUS_INPUT, "frame %" PRIu64 ": failing as asked", f->recipe.id);
    return STATUS_OK;
}

static enum status source_frame(void *state, struct frame *f, struct error *e)
{
    f->recipe.seed = f->recipe.id * 3;
    f->recipe.lattices = mem_array(1, sizeof *f->recipe.lattices);
    f->recipe.nlattices = 1;
    if (!lattice_reserve(f->recipe.lattices, 1, 2))
        return error_memory(e, "a lattice");
    return pause_or_fail(state, f, e);
}

static enum status make_begin(void *state, struct experiment *x, struct error *e)
{
    (void)e;
    ((struct test *)state)->pixels = x->panels[0].fast_pixels;
    return STATUS_OK;
}

static const struct card *test_card(void *state)
{
    struct test *t = state;
    return t->card_folder ? folder_card_of(&t->card, t->card_folder) : NULL;
}

static enum status make_frame(void *state, struct frame *f, struct error *e)
{
    const struct test *t = state;
    float *pixels = folder_card_image(&f->image, (size_t)(t->pixels * t->pixels));
    folder_card_log(&t->card, "make", f->recipe.id, &f->image);
    for (size_t i = 0; i < f->image.count; i++)
        pixels[i] = (float)(f->recipe.id + i);
    f->image.has_sum = t->missum_at >= 0 && f->recipe.id == (uint64_t)t->missum_at;
    return pause_or_fail(t, f, e);
}

static enum status work_frame(void *state, struct frame *f, struct error *e)
{
    float *pixels = f->image.pixels;
    for (size_t i = 0; i < f->image.count; i++)
        pixels[i] += 1;
    return pause_or_fail(state, f, e);
}

static enum status pass_frame(void *state, struct frame *f, struct error *e)
{
    folder_card_log(&((struct test *)state)->card, "pass", f->recipe.id, &f->image);
    return pause_or_fail(state, f, e);
}

/* Its input may be in memory of the stage before. */
static enum status relay_frame(void *state, struct frame *f, struct error *e)
{
    const struct test *t = state;
    struct image next = {.memory = f->image.memory};
    const enum status s = pause_or_fail(state, f, e);
    if (s)
        return s;
    float *to = folder_card_image(&next, f->image.count);
    folder_card_log(&t->card, "relay", f->recipe.id, &f->image);
    const float *from = f->image.card ? f->image.card : f->image.pixels;
    for (size_t i = 0; i < next.count; i++)
        to[i] = from[i] + 1;
    image_free(&f->image);
    f->image = next;
    return STATUS_OK;
}

static enum status sink_frame(void *state, struct frame *f, struct error *e)
{
    const struct test *t = state;
    char name[520], final[512];
    double sum = 0;
    const float *pixels = f->image.pixels;
    for (size_t i = 0; i < f->image.count; i++)
        sum += pixels[i];
    (void)snprintf(final, sizeof final, "%s/%06" PRIu64, t->folder, f->recipe.id);
    (void)snprintf(name, sizeof name, "%s.part", final);
    FILE *out = fopen(name, "w");
    if (!out)
        return error_errno(e, STATUS_FAILED, "%s", name);
    fprintf(out, "%" PRIu64 " %" PRIu64 " %.17g\n", f->recipe.id, f->recipe.seed, sum);
    const bool closed = fclose(out) == 0;
    if (!image_is_intact(&f->image)) {
        (void)unlink(name);
        return error_set(e, STATUS_FAILED, "%s: the image was replaced", final);
    }
    if (!closed || rename(name, final) != 0)
        return error_errno(e, STATUS_FAILED, "%s", final);
    return pause_or_fail(t, f, e);
}

static enum status file_frame(void *state, struct frame *f, struct error *e)
{
    struct test quick = {.folder = ((struct test *)state)->folder,
                         .fail_at = -1,
                         .die_at = -1,
                         .crash_at = -1,
                         .starve_at = -1,
                         .stall_from = -1};
    const enum status s = pause_or_fail(state, f, e);
    return s ? s : sink_frame(&quick, f, e);
}

static enum status count_frame(void *state, struct frame *f, struct error *e)
{
    struct test *t = state;
    const float *pixels = f->image.pixels;
    for (size_t i = 0; i < f->image.count; i++)
        t->sum += (uint64_t)pixels[i];
    t->count++;
    return pause_or_fail(t, f, e);
}

static void count_close(void *state)
{
    const struct test *t = state;
    char name[520];
    (void)snprintf(name, sizeof name, "%s/total", t->folder);
    FILE *out = fopen(name, "w");
    if (!out)
        return;
    fprintf(out, "%" PRIu64 " %" PRIu64 "\n", t->count, t->sum);
    (void)fclose(out);
}

static enum status sink_have(void *state, struct id_set *ids, struct error *e)
{
    DIR *folder = opendir(((struct test *)state)->folder);
    if (!folder)
        return error_errno(e, STATUS_FAILED, "the folder");
    for (struct dirent *one; (one = readdir(folder));)
        if (one->d_name[0] != '.' && one->d_name[strspn(one->d_name, "0123456789")] == 0)
            id_set_add(ids, strtoull(one->d_name, NULL, 10));
    (void)closedir(folder);
    return STATUS_OK;
}

#define COMMON                                                                              \
    .summary = "A stage for tests.", .options = options, .state_size = sizeof(struct test), \
    .open = test_open

static const struct stage stages[] = {
    {.role = {.name = "test-first", .gives = KIND_EXPERIMENT},
     COMMON,
     .begin = first_begin,
     .close = first_close},
    {.role = {.name = "test-source", .wants = KIND_EXPERIMENT, .gives = KIND_RECIPE},
     COMMON,
     .list = source_list,
     .frame = source_frame},
    {.role = {.name = "test-make", .wants = KIND_RECIPE, .gives = KIND_IMAGE},
     COMMON,
     .begin = make_begin,
     .card = test_card,
     .frame = make_frame},
    {.role = {.name = "test-work", .wants = KIND_IMAGE, .gives = KIND_IMAGE},
     COMMON,
     .frame = work_frame},
    {.role = {.name = "test-pass", .wants = KIND_IMAGE, .gives = KIND_IMAGE},
     COMMON,
     .frame = pass_frame},
    {.role = {.name = "test-sink", .wants = KIND_IMAGE},
     COMMON,
     .operands = "FOLDER",
     .min_operands = 1,
     .max_operands = 1,
     .have = sink_have,
     .frame = sink_frame},
    {.role = {.name = "test-count", .wants = KIND_IMAGE},
     COMMON,
     .operands = "FOLDER",
     .min_operands = 1,
     .max_operands = 1,
     .frame = count_frame,
     .close = count_close},
    {.role = {.name = "test-relay", .wants = KIND_IMAGE, .gives = KIND_IMAGE},
     COMMON,
     .reads_only = true,
     .card = test_card,
     .frame = relay_frame},
    {.role = {.name = "test-hand", .wants = KIND_IMAGE, .gives = KIND_IMAGE},
     COMMON,
     .reads_only = true,
     .card = test_card,
     .frame = pass_frame},
    {.role = {.name = "test-file", .wants = KIND_IMAGE},
     COMMON,
     .operands = "FOLDER",
     .min_operands = 1,
     .max_operands = 1,
     .reads_only = true,
     .frame = file_frame},
    {.role = {.name = "test-tap", .wants = KIND_IMAGE, .transient = true},
     COMMON,
     .operands = "FOLDER",
     .min_operands = 1,
     .max_operands = 1,
     .frame = sink_frame},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof stages / sizeof *stages; i++)
        if (strcmp(stages[i].role.name + strlen("test-"), argv[1]) == 0)
            return stage_main(&stages[i], argc - 1, argv + 1);
    return STATUS_USAGE;
}
