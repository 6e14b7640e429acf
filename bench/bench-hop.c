/*
 * The programs of the transport benchmark, chosen by the first argument: stages that
 * move images and compute as little as they can, and a bare pair of sockets.
 *
 *   first -> one panel of --pixels^2 float32
 *   source -> --frames recipes of --domains
 *   make -> images of zeros; with --touch written anew for every frame
 *   null -> the same images; with --touch copied
 *   sink -> nothing
 *   push, pull: --frames messages of --pixels^2 float32 through --endpoint; push stays
 *               until its stdin, a pipe from pull, ends
 *
 * At its end each appends a line to the file --report: its role; ns of CPU and of wall time a
 * frame, without the first ten; KiB of its largest resident memory.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "stage/stage.h"

enum { WARM = 10 };

struct hop {
    int64_t frames, pixels, domains, sleep_ms;
    bool touch;
    const char *report, *endpoint;
    size_t count;  // pixels
    float *zeros;  // that many
    uint32_t sum;  // of them
    int64_t ticks;
    double cpu_start_ns, wall_start_ns, cpu_ns, wall_ns;
};

#define AT(member) .offset = offsetof(struct hop, member)
static const struct opt options[] = {
    {"frames", "N", "How many", OPT_INT, AT(frames), .min = 1, .max = 1e9, .usual = "100"},
    {"pixels", "N", "Edge of the panel", OPT_INT, AT(pixels), .min = 1, .max = 1e5,
     .usual = "4096"},
    {"domains", "N", "Mosaic domains of the lattice of a recipe, 72 bytes each", OPT_INT,
     AT(domains), .min = 1, .max = 1000, .usual = "1"},
    {"sleep", "MS", "Time that make and sink sleep for each frame", OPT_INT, AT(sleep_ms), .min = 0,
     .max = 1e6, .usual = "0"},
    {"touch", NULL, "Write all pixels", OPT_FLAG, AT(touch)},
    {"report", "FILE", "Append what this process cost", OPT_TEXT, AT(report)},
    {"endpoint", "ENDPOINT", "Endpoint of push and pull", OPT_TEXT, AT(endpoint)},
    {0},
};

/* Called at each frame: time counts from the WARM-th to the last one. */
static void tick(struct hop *h)
{
    struct rusage r;
    (void)getrusage(RUSAGE_SELF, &r);
    h->cpu_ns = 1e9 * (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
                1e3 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
    h->wall_ns = (double)clock_ns();
    if (h->ticks++ == WARM) {
        h->cpu_start_ns = h->cpu_ns;
        h->wall_start_ns = h->wall_ns;
    }
}

static void pause_for_frame(const struct hop *h)
{
    const struct timespec pause = {h->sleep_ms / 1000, h->sleep_ms % 1000 * 1000000};
    if (h->sleep_ms)
        (void)nanosleep(&pause, NULL);
}

static void write_report(const struct hop *h, const char *role)
{
    struct rusage r;
    FILE *out = h->report && getrusage(RUSAGE_SELF, &r) == 0 ? fopen(h->report, "a") : NULL;
    if (!out)
        return;
    const double frames = (double)(h->ticks > WARM + 1 ? h->ticks - WARM - 1 : 1);
    (void)fprintf(out, "%s %.0f %.0f %ld\n", role, (h->cpu_ns - h->cpu_start_ns) / frames,
                  (h->wall_ns - h->wall_start_ns) / frames, r.ru_maxrss);
    (void)fclose(out);
}

static void close_hop(void *state)
{
    struct hop *h = state;
    write_report(h, log_program() + strlen("hop-"));
    mem_free(h->zeros);
}

/* --- stages -------------------------------------------------------------- */

static enum status first_begin(void *state, struct experiment *x, struct error *e)
{
    (void)e;
    const struct hop *h = state;
    x->panels = mem_array(1, sizeof *x->panels);
    x->crystals = mem_array(1, sizeof *x->crystals);
    x->npanels = x->ncrystals = 1;
    x->panels[0] = (struct panel){.fast_pixels = h->pixels, .slow_pixels = h->pixels, .layers = 1};
    x->panels[0].roi = (struct roi){0, h->pixels - 1, 0, h->pixels - 1};
    return STATUS_OK;
}

static enum status source_list(void *state, struct id_set *ids, struct error *e)
{
    const uint64_t frames = (uint64_t)((struct hop *)state)->frames;
    (void)e;
    if (frames)
        id_set_add_range(ids, (struct id_range){0, frames - 1});
    return STATUS_OK;
}

static enum status source_frame(void *state, struct frame *f, struct error *e)
{
    struct hop *h = state;
    tick(h);
    f->recipe.lattices = mem_array(1, sizeof *f->recipe.lattices);
    f->recipe.nlattices = 1;
    return lattice_reserve(f->recipe.lattices, 1, (size_t)h->domains)
               ? STATUS_OK
               : error_memory(e, "a lattice");
}

static enum status begin(void *state, struct experiment *x, struct error *e)
{
    (void)e;
    struct hop *h = state;
    h->count = (size_t)experiment_pixels(x);
    h->zeros = mem_array(h->count, sizeof *h->zeros);
    h->sum = crc32c(0, h->zeros, h->count * sizeof *h->zeros);
    return STATUS_OK;
}

/* An image whose pixels are zero without being written: slots begin as zeros, and for
 * want of a pool the one image on the heap is sent again and again. */
static enum status zeros(const struct hop *h, struct image *image, struct error *e)
{
    struct image fresh = {.memory = image->memory};
    if (!fresh.memory)
        fresh = (struct image){.count = h->count, .pixels = h->zeros};
    else if (!image_reserve(&fresh, PIXEL_F32, UNIT_PHOTONS, h->count))
        return error_memory(e, "an image");
    fresh.has_sum = true;
    fresh.sum = h->sum;
    image_free(image);
    *image = fresh;
    return STATUS_OK;
}

static enum status make_frame(void *state, struct frame *f, struct error *e)
{
    struct hop *h = state;
    tick(h);
    pause_for_frame(h);
    if (!h->touch)
        return zeros(h, &f->image, e);
    if (!image_reserve(&f->image, PIXEL_F32, UNIT_PHOTONS, h->count))
        return error_memory(e, "an image");
    float *pixels = f->image.pixels;
    for (size_t i = 0; i < h->count; i++)
        pixels[i] = (float)(f->recipe.id + i);
    return STATUS_OK;
}

static enum status null_frame(void *state, struct frame *f, struct error *e)
{
    struct hop *h = state;
    tick(h);
    if (!h->touch)
        return f->image.memory ? zeros(h, &f->image, e) : STATUS_OK;
    struct image copy = {.memory = f->image.memory};
    if (!image_reserve(&copy, PIXEL_F32, UNIT_PHOTONS, h->count))
        return error_memory(e, "an image");
    memcpy(copy.pixels, f->image.pixels, h->count * sizeof(float));
    image_free(&f->image);
    f->image = copy;
    return STATUS_OK;
}

static enum status sink_frame(void *state, struct frame *f, struct error *e)
{
    (void)f;
    (void)e;
    tick(state);
    pause_for_frame(state);
    return STATUS_OK;
}

#define COMMON                                                                                     \
    .summary = "A stage that does nothing.", .options = options, .state_size = sizeof(struct hop), \
    .close = close_hop, .reads_only = true

static const struct stage stages[] = {
    {.role = {.name = "hop-first", .gives = KIND_EXPERIMENT}, COMMON, .begin = first_begin},
    {.role = {.name = "hop-source", .wants = KIND_EXPERIMENT, .gives = KIND_RECIPE},
     COMMON,
     .list = source_list,
     .frame = source_frame},
    {.role = {.name = "hop-make", .wants = KIND_RECIPE, .gives = KIND_IMAGE},
     COMMON,
     .begin = begin,
     .frame = make_frame},
    {.role = {.name = "hop-null", .wants = KIND_IMAGE, .gives = KIND_IMAGE},
     COMMON,
     .begin = begin,
     .frame = null_frame},
    {.role = {.name = "hop-sink", .wants = KIND_IMAGE}, COMMON, .frame = sink_frame},
};

/* --- bare sockets -------------------------------------------------------- */

static int push(struct hop *h, void *socket, size_t bytes)
{
    int bad = zmq_bind(socket, h->endpoint);
    h->zeros = mem_array(bytes, 1);
    for (int64_t i = 0; i < h->frames && h->zeros && !bad; i++) {
        zmq_msg_t m;
        bad = zmq_msg_init_data(&m, h->zeros, bytes, NULL, NULL);
        bad = bad || zmq_msg_send(&m, socket, 0) < 0;
    }
    char end;
    while (!bad && read(STDIN_FILENO, &end, 1) > 0)  // what is under way would be lost
        continue;
    return bad || !h->zeros;
}

static int pull(struct hop *h, void *socket, size_t bytes)
{
    int bad = zmq_connect(socket, h->endpoint);
    for (int64_t i = 0; i < h->frames && !bad; i++) {
        zmq_msg_t m;
        bad = zmq_msg_init(&m) || zmq_msg_recv(&m, socket, 0) < 0 || zmq_msg_size(&m) != bytes;
        (void)zmq_msg_close(&m);
        tick(h);
    }
    return bad;
}

static int run_bare(bool sends, int argc, char **argv)
{
    static const struct opt_program program = {.name = "hop", .summary = "A bare socket."};
    struct hop h = {0};
    struct error e = {0};
    int noperands;
    if (opt_parse(&program, options, &h, NULL, NULL, argc, argv, NULL, &noperands, &e))
        return log_fail(&e);
    const size_t bytes = (size_t)(h.pixels * h.pixels) * sizeof(float);
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, sends ? ZMQ_PUSH : ZMQ_PULL);
    const int one = 1;
    (void)zmq_setsockopt(socket, ZMQ_SNDHWM, &one, sizeof one);
    (void)zmq_setsockopt(socket, ZMQ_RCVHWM, &one, sizeof one);
    const int bad = sends ? push(&h, socket, bytes) : pull(&h, socket, bytes);
    (void)zmq_close(socket);
    (void)zmq_ctx_term(context);
    write_report(&h, argv[0]);
    mem_free(h.zeros);
    return bad ? STATUS_FAILED : STATUS_OK;
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof stages / sizeof *stages; i++)
        if (strcmp(stages[i].role.name + strlen("hop-"), argv[1]) == 0)
            return stage_main(&stages[i], argc - 1, argv + 1);
    if (argc > 1 && (strcmp(argv[1], "push") == 0 || strcmp(argv[1], "pull") == 0))
        return run_bare(strcmp(argv[1], "push") == 0, argc - 1, argv + 1);
    return STATUS_USAGE;
}
