/*
 * Measures the CPU time of a frame in the two sinks, bragg-serve (Stream V2) and bragg-write
 * (NXmx), and in the busiest thread of each.  A recording of counts of an Eiger is played.  Both
 * sinks compress the pixels with bitshuffle and LZ4, or get them compressed through tcp
 * (--compress).  The times are compared with the time of compressing the same pixels in memory.
 * Every message must end with the compressed pixels of its frame, in which pixels without data have
 * the largest value, and the pixels of the files must be those of the recording.
 *
 * The work of a frame is divided between SINK_THREADS threads equally (OMP_SCHEDULE), however many
 * cores this machine has.  So the time of the busiest thread limits the rate on a machine with
 * SINK_THREADS free cores.
 */
#include <endian.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <zmq.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/isa.h"
#include "chain.h"
#include "codec/bslz4.h"

enum { RECORDED = 4, FACTOR = 5, IDLE_MS = 20000, SINK_THREADS = 16, DETECTOR_NAME = 32 };

struct sinks;
typedef enum status sink(const struct sinks *s, int contestant, int64_t loops, struct run *r,
                         struct error *e);
static sink serve, write_files;

enum { PACKING, CONTESTANTS = 6 };

/* The sinks; the first contestant is the compression in memory. */
static const struct contestant {
    const char *name, *stage;
    bool packed;  // frames come compressed
    sink *run;
    const char *options;  // of the sink
} all[CONTESTANTS] = {
    {.name = "packing alone"},
    {"bragg-serve, Stream V2", "bragg-serve", false, serve, ""},
    {"bragg-write, NXmx", "bragg-write", false, write_files, ""},
    {"bragg-serve, Stream V2, packed frames", "bragg-serve", true, serve, ""},
    {"bragg-write, NXmx, packed frames", "bragg-write", true, write_files, ""},
    {"bragg-write, NXmx without compression", "bragg-write", false, write_files,
     "--compression=none"},
};

struct sinks {
    struct bench *b;
    char detector[DETECTOR_NAME];  // with its size
    char geometry[160];            // options of bragg-geometry
    size_t count, size;            // pixels; bytes of a pixel
    void *pixels[RECORDED];
    uint8_t *packed[RECORDED];  // as clients get them; made from the first message of the frame
    size_t length[RECORDED];    // 0: not known yet
    struct timing times[CONTESTANTS];
    struct timing busiest[CONTESTANTS];  // CPU time of the busiest thread
};

/* --- frames -------------------------------------------------------------------- */

/* Reads the pixels of image `i` of the recording, which end its file. */
static enum status read_image(struct sinks *s, int i, struct error *e)
{
    char path[160];
    (void)snprintf(path, sizeof path, "%s/f_%d.img", s->b->scratch, i);
    s->pixels[i] = mem_array(s->count, s->size);
    s->packed[i] = mem_room(bslz4_bound(s->count, s->size));
    FILE *in = fopen(path, "rb");
    const bool good = in && fseek(in, -(long)(s->size * s->count), SEEK_END) == 0 &&
                      fread(s->pixels[i], s->size, s->count, in) == s->count;
    if (in)
        (void)fclose(in);
    return good ? STATUS_OK : error_set(e, STATUS_FAILED, "%s: cannot read", path);
}

static enum status make_frames(struct sinks *s, struct error *e)
{
    char command[COMMAND_MAX] = "", options[256];
    struct run r;
    (void)snprintf(options, sizeof options,
                   "--cell=70,80,90,90,90,90 --default-F=100 --ncells=5 --wavelength=1 "
                   "--distance=150 %s",
                   s->geometry);
    chain_stage(s->b, command, "bragg-geometry", options);
    (void)snprintf(options, sizeof options, "--frames=%d --random --seed=7", RECORDED);
    chain_stage(s->b, command, "bragg-orient", options);
    chain_stage(s->b, command, "bragg-intensity", "--threads=1");
    chain_stage(s->b, command, "bragg-background", "--threads=1 --water=20");
    (void)snprintf(options, sizeof options, "--adc-offset=0 --bits=%zu", 8 * s->size);
    chain_stage(s->b, command, "bragg-noise", options);
    chain_stage(s->b, command, "bragg-tap", "--overwrite --record=../frames.rec");
    enum status status = chain_run(s->b, "recorded", command, &r, e);
    if (!status)
        status = chain_run(s->b, "images",
                           "bragg-replay --quiet ../frames.rec | "
                           "bragg-write --quiet --overwrite ../f_%d.img 2>/dev/null",
                           &r, e);
    for (int i = 0; i < RECORDED && !status; i++)
        status = read_image(s, i, e);
    return status;
}

static void free_frames(struct sinks *s)
{
    for (int i = 0; i < RECORDED; i++) {
        mem_free(s->pixels[i]);
        mem_free(s->packed[i]);
    }
}

/* Makes the command that plays the recording `loops` times into a sink. */
static void play(char *command, int contestant, int64_t loops, const char *sink_command)
{
    const int port = chain_port();
    if (all[contestant].packed)
        (void)snprintf(command, COMMAND_MAX,
                       "export OMP_SCHEDULE=static; "
                       "%s --insecure --in=tcp://127.0.0.1:%d >/dev/null & sink=$!; "
                       "bragg-replay --quiet --insecure --compress --loop=%" PRId64
                       " --out=@tcp://127.0.0.1:%d ../frames.rec && wait $sink",
                       sink_command, port, loops, port);
    else
        (void)snprintf(command, COMMAND_MAX,
                       "export OMP_SCHEDULE=static; "
                       "bragg-replay --quiet --loop=%" PRId64 " ../frames.rec | %s >/dev/null",
                       loops, sink_command);
}

/* --- a client of Stream V2 ------------------------------------------------------- */

/* A client that compares the end of each message with the packed pixels of its frame. */
struct client {
    struct sinks *s;
    void *socket;
    int64_t images;  // the start and the end of the series are one message more each
    bool good;
};

/* Returns true if pixels are those of a frame.  The recording has 0 where there are no data. */
static bool are_pixels(const struct sinks *s, const void *got, const void *sent)
{
    bool good = true;
    for (size_t i = 0; i < s->count && s->size == sizeof(uint16_t); i++) {
        const uint16_t g = ((const uint16_t *)got)[i], w = ((const uint16_t *)sent)[i];
        good = good && (g == w || (!w && g == UINT16_MAX));
    }
    for (size_t i = 0; i < s->count && s->size == sizeof(uint32_t); i++) {
        const uint32_t g = ((const uint32_t *)got)[i], w = ((const uint32_t *)sent)[i];
        good = good && (g == w || (!w && g == UINT32_MAX));
    }
    return good;
}

/* Finds the packed pixels at the end of a message, and keeps them if they are those of frame `k`.
 */
static bool keep_image(struct sinks *s, int64_t k, const uint8_t *data, size_t size)
{
    enum { BEFORE = 1 << 16 };
    const uint64_t bytes = htobe64(s->count * s->size);
    const uint8_t *chunk = memmem(data, size < BEFORE ? size : BEFORE, &bytes, sizeof bytes);
    void *pixels = mem_room(s->count * s->size);
    const size_t length = chunk ? size - (size_t)(chunk - data) : 0;
    const bool good = chunk && length <= bslz4_bound(s->count, s->size) &&
                      !bslz4_decompress(chunk, length, pixels, s->count, s->size, NULL) &&
                      are_pixels(s, pixels, s->pixels[k]);
    mem_free(pixels);
    if (!good)
        return false;
    memcpy(s->packed[k], chunk, length);
    s->length[k] = length;
    return true;
}

static bool is_image(struct sinks *s, int64_t number, zmq_msg_t *m)
{
    const size_t size = zmq_msg_size(m), k = (size_t)number % RECORDED, length = s->length[k];
    const uint8_t *data = zmq_msg_data(m);
    if (!length)
        return keep_image(s, (int64_t)k, data, size);
    return size > length && memcmp(data + size - length, s->packed[k], length) == 0;
}

static void *receive_all(void *argument)
{
    struct client *c = argument;
    c->good = true;
    for (int64_t i = -1; i <= c->images && c->good; i++) {
        zmq_msg_t m;
        (void)zmq_msg_init(&m);
        c->good = zmq_msg_recv(&m, c->socket, 0) >= 0 &&
                  (i < 0 || i == c->images || is_image(c->s, i, &m));
        (void)zmq_msg_close(&m);
    }
    return NULL;
}

/* Runs bragg-serve for `loops` times the recording, with a client that receives all frames. */
static enum status serve(const struct sinks *s, int contestant, int64_t loops, struct run *r,
                         struct error *e)
{
    char command[COMMAND_MAX], endpoint[96], server[256];
    const int idle_ms = IDLE_MS;
    pthread_t thread;
    void *context = zmq_ctx_new();
    struct client client = {.s = (struct sinks *)(uintptr_t)s, .images = loops * RECORDED};
    client.socket = zmq_socket(context, ZMQ_PULL);
    (void)snprintf(endpoint, sizeof endpoint, "ipc://%s/clients", s->b->scratch);
    (void)snprintf(server, sizeof server,
                   "bragg-serve --quiet --stats=stats --threads=%d --protocol=dectris2 --bind=%s",
                   SINK_THREADS, endpoint);
    play(command, contestant, loops, server);
    enum status status = STATUS_FAILED;
    if (!client.socket || zmq_setsockopt(client.socket, ZMQ_RCVTIMEO, &idle_ms, sizeof idle_ms) ||
        zmq_connect(client.socket, endpoint) || pthread_create(&thread, NULL, receive_all, &client))
        (void)error_set(e, STATUS_FAILED, "%s: cannot connect", endpoint);
    else {
        status = chain_run(s->b, "served", command, r, e);
        (void)pthread_join(thread, NULL);
        if (!status && !client.good)
            status = error_set(e, STATUS_FAILED, "bragg-serve sent other images");
    }
    if (client.socket)
        (void)zmq_close(client.socket);
    (void)zmq_ctx_term(context);
    return status;
}

/* --- files ----------------------------------------------------------------------- */

static enum status write_files(const struct sinks *s, int contestant, int64_t loops, struct run *r,
                               struct error *e)
{
    char command[COMMAND_MAX], writer[128];
    (void)snprintf(writer, sizeof writer, "bragg-write --quiet --stats=stats --threads=%d %s w.nxs",
                   SINK_THREADS, all[contestant].options);
    play(command, contestant, loops, writer);
    return chain_run(s->b, "written", command, r, e);
}

/* Compares the pixels of NXmx files with those of the recording. */
static enum status check_files(const struct sinks *s, int contestant, struct error *e)
{
    char command[COMMAND_MAX], writer[128];
    struct run r;
    (void)snprintf(writer, sizeof writer, "bragg-write --quiet --threads=3 %s w.nxs",
                   all[contestant].options);
    play(command, contestant, 1, writer);
    const size_t length = strlen(command);
    (void)snprintf(command + length, sizeof command - length,
                   " && bragg-replay --quiet w.nxs | bragg-write --quiet g_%%d.img 2>/dev/null && "
                   "for i in 0 1 2 3; do tail -c %zu ../f_$i.img >a; "
                   "tail -c %zu g_$i.img | cmp - a || exit 1; done",
                   s->size * s->count, s->size * s->count);
    return chain_run(s->b, "checked", command, &r, e);
}

/* --- rounds ---------------------------------------------------------------------- */

/* Packs all frames of a run in one thread, and adds the time of one frame. */
static void pack_frames(struct sinks *s, uint8_t *out, int64_t frames)
{
    const uint64_t cpu = clock_cpu_ns(), wall = clock_ns();
    for (int64_t i = 0; i < frames; i++)
        (void)bslz4_compress(isa_best(), s->pixels[i % RECORDED], s->count, s->size, out);
    const double cpu_ns = (double)(clock_cpu_ns() - cpu) / (double)frames,
                 wall_ns = (double)(clock_ns() - wall) / (double)frames;
    timing_add(&s->times[PACKING], cpu_ns, wall_ns);
    timing_add(&s->busiest[PACKING], cpu_ns, wall_ns);
}

/* Some frames, and more of them: the difference is what a frame costs once all runs.  The first run
 * has half as many frames, so that the same thread is the busiest one in both. */
static enum status run_sink(struct sinks *s, int contestant, int64_t more, struct error *e)
{
    const struct contestant *c = &all[contestant];
    const double frames = (double)(more * RECORDED);
    struct run few, many;
    enum status status = c->run(s, contestant, 1 + more, &few, e);
    if (status || (status = c->run(s, contestant, 1 + 2 * more, &many, e)))
        return status;
    const struct cost *least = chain_find(&few, c->stage), *most = chain_find(&many, c->stage);
    const double wall_ns = (many.wall_ns - few.wall_ns) / frames;
    timing_add(&s->times[contestant], 1e9 * (most->cpu_s - least->cpu_s) / frames, wall_ns);
    timing_add(&s->busiest[contestant], 1e9 * (most->busiest_cpu_s - least->busiest_cpu_s) / frames,
               wall_ns);
    return STATUS_OK;
}

static void report(struct sinks *s, int contestant)
{
    struct bench *b = s->b;
    const struct timing *t = &s->times[contestant];
    const double cpu_ns = timing_median(t->cpu_ns, t->count);
    const double alone_ns = timing_median(s->times[PACKING].cpu_ns, t->count);
    const double busiest_ns = timing_median(s->busiest[contestant].cpu_ns, t->count);
    record_open(b, "sinks");
    record_text(b, "contestant", all[contestant].name);
    record_text(b, "detector", s->detector);
    record_real(b, "bits", 8 * (double)s->size);
    record_real(b, "packed_bytes", (double)s->length[0]);
    record_real(b, "to_packing", cpu_ns / alone_ns);
    record_real(b, "threads", contestant == PACKING ? 1 : SINK_THREADS);
    record_real(b, "busiest_ms", busiest_ns / 1e6);
    record_timing(b, t);
    record_close(b);
    printf("| %s | %s, %zu bits | %.2f%s | %.2f | %.2f | %.0f |\n", all[contestant].name,
           s->detector, 8 * s->size, cpu_ns / 1e6, timing_mark(t), cpu_ns / alone_ns,
           busiest_ns / 1e6, 1e9 / busiest_ns);
    (void)fflush(stdout);
}

static enum status run_frames(struct sinks *s, struct error *e)
{
    struct bench *b = s->b;
    const int64_t more = (b->o.frames * FACTOR + RECORDED - 1) / RECORDED;
    uint8_t *out = mem_room(bslz4_bound(s->count, s->size));
    enum status status = make_frames(s, e);
    for (int i = 0; i < CONTESTANTS && !status; i++)
        if (all[i].run == write_files)
            status = check_files(s, i, e);
    for (int64_t round = 0; round < b->o.iterations && !status; round++) {
        pack_frames(s, out, more * RECORDED);
        for (int i = PACKING + 1; i < CONTESTANTS && !status; i++)
            status = run_sink(s, i, more, e);
    }
    for (int i = 0; i < CONTESTANTS && !status; i++)
        report(s, i);
    free_frames(s);
    mem_free(out);
    return status;
}

static enum status run_edge(struct bench *b, int64_t edge, struct error *e)
{
    struct sinks s = {.b = b, .count = (size_t)(edge * edge), .size = sizeof(uint16_t)};
    (void)snprintf(s.detector, sizeof s.detector, "%" PRId64 " x %" PRId64, edge, edge);
    (void)snprintf(s.geometry, sizeof s.geometry,
                   "--oversample=1 --detpixels=%" PRId64 " --pixel=%.10g", edge,
                   102.4 / (double)edge);
    return run_frames(&s, e);
}

static enum status run_eiger(struct bench *b, int which, size_t size, struct error *e)
{
    static const struct {
        const char *name;
        size_t count;
    } EIGERS[] = {{"eiger2-4m", 2068 * 2162}, {"eiger2-16m", 4148 * 4362}};
    struct sinks s = {.b = b, .count = EIGERS[which].count, .size = size};
    char name[DETECTOR_NAME];
    (void)snprintf(name, sizeof name, "%s, %zu bits", EIGERS[which].name, 8 * size);
    if (!bench_wants(b, name))
        return STATUS_OK;
    (void)snprintf(s.detector, sizeof s.detector, "%s", EIGERS[which].name);
    (void)snprintf(s.geometry, sizeof s.geometry, "--layers=1 --detector=%s", s.detector);
    return run_frames(&s, e);
}

enum status bench_sinks(struct bench *b, struct error *e)
{
    enum status s = STATUS_OK;
    printf("\n| sink | image | CPU ms/frame | to packing | busiest of %d threads, ms/frame | "
           "frames/s at most |\n|---|---|---|---|---|---|\n",
           SINK_THREADS);
    for (size_t i = 0; b->o.has_sizes && i < b->nsizes && !s; i++)
        s = run_edge(b, b->sizes[i], e);
    for (int which = 0; !b->o.has_sizes && which < 2 && !s; which++)
        for (size_t size = sizeof(uint16_t); size <= sizeof(uint32_t) && !s; size *= 2)
            s = run_eiger(b, which, size, e);
    return s;
}
