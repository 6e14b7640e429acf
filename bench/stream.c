/*
 * Measures messages: a frame becomes a message with its checksum, and a frame again, as in the
 * sender and the receiver on every link.  The part `pipeline` measures sockets.
 */

#include "base/alloc.h"
#include "base/clock.h"
#include "bench.h"
#include "wire/codec.h"
#include "wire/message.h"

/* One frame through the codec; its pixels come back in *f. */
static enum status hop(struct frame *f, const struct codec_expected *expected, struct timing *send,
                       struct timing *receive, struct error *e)
{
    struct message m = {0};
    struct route r = {.type = MESSAGE_FRAME, .stage = "bench", .flags = 3}, arrived;
    uint64_t cpu = clock_cpu_ns(), wall = clock_ns();
    enum status s = codec_frame_encode(f, expected->lineage, &m, e);
    if (!s)
        route_seal(&r, &m);
    timing_add(send, (double)(clock_cpu_ns() - cpu), (double)(clock_ns() - wall));
    cpu = clock_cpu_ns();
    wall = clock_ns();
    if (!s)
        s = route_open(&arrived, &m, e);
    if (!s && !route_sum_matches(&arrived, &m))
        s = error_set(e, STATUS_FAILED, "the checksum of a message is wrong");
    if (!s)
        s = codec_frame_decode(f, expected, &m, e);
    timing_add(receive, (double)(clock_cpu_ns() - cpu), (double)(clock_ns() - wall));
    message_free(&m);
    return s;
}

static void report(struct bench *b, int64_t edge, const char *side, const struct timing *t)
{
    const double ms = timing_median(t->cpu_ns, t->count) / 1e6;
    const double bytes = 4.0 * (double)(edge * edge);
    record_open(b, "stream");
    record_text(b, "side", side);
    record_real(b, "bytes", bytes);
    record_timing(b, t);
    record_close(b);
    printf("| %s | %.1f | %.3f%s | %.1f |\n", side, bytes / 0x1p20, ms, timing_mark(t),
           bytes / ms / 1e6);
}

static enum status run_size(struct bench *b, int64_t edge, struct error *e)
{
    struct timing send = {0}, receive = {0};
    const struct codec_expected expected = {
        .lineage = "0123456789abcdef", .pixels = (size_t)(edge * edge), .crystals = 1};
    struct frame f = {.recipe = {.id = 1, .lattices = mem_array(1, sizeof(struct lattice))}};
    f.recipe.nlattices = 1;
    enum status s = STATUS_OK;
    if (!f.recipe.lattices || !lattice_reserve(f.recipe.lattices, 1, 1) ||
        !image_reserve(&f.image, PIXEL_F32, UNIT_PHOTONS, expected.pixels))
        s = error_memory(e, "a frame");
    for (size_t i = 0; !s && i < 9; i += 4)
        f.recipe.lattices[0].rotation[i] = f.recipe.lattices[0].domains[i] =
            f.recipe.lattices[0].cells_m[i] = f.recipe.lattices[0].reciprocal_A[i] = 1.0;
    for (int64_t round = -1; round < b->o.iterations && !s; round++) {
        if (round == 0)
            send.count = receive.count = 0;  // the first round only warms up
        s = hop(&f, &expected, &send, &receive, e);
    }
    if (!s) {
        report(b, edge, "encode, checksum", &send);
        report(b, edge, "checksum, decode", &receive);
    }
    frame_free(&f);
    return s;
}

enum status bench_stream(struct bench *b, struct error *e)
{
    enum status s = STATUS_OK;
    printf("\n| wire | MiB | CPU ms/frame | GB/s |\n|---|---|---|---|\n");
    for (size_t i = 0; i < b->nsizes && !s; i++)
        s = run_size(b, b->sizes[i], e);
    return s;
}
