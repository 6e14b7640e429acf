#include "scale.h"

#include <inttypes.h>
#include <stdio.h>

#include "world.h"

enum { FRAMES_EACH = 20 };  // of a worker

/* On a network of 100 us; a frame takes a worker 0.2 s, and the others next to nothing. */
static struct plan plan_large(unsigned workers, unsigned sinks)
{
    return (struct plan){.seed = 1,
                         .network = true,
                         .handover = true,
                         .workers = workers,
                         .sinks = sinks,
                         .image_bytes = 8 << 20,
                         .frames = (uint64_t)workers * FRAMES_EACH,
                         .window = 4 * (uint64_t)workers < 65536 ? 4 * (uint64_t)workers : 65536,
                         .dead_after_s = 10,
                         .latency_ns = MILLISECOND / 10,
                         .compute_ns = SECOND / 5,
                         .ends_ns = SECOND / 100000};
}

int scale_row(unsigned workers, unsigned sinks)
{
    struct plan p = plan_large(workers, sinks);
    world.timed = true;
    if (!world_run(&p, false)) {
        printf("%u workers, %u sinks: %s\n", workers, sinks, world.wrong);
        return 1;
    }
    const double frames = (double)p.frames, whole_s = (double)world.source_end_ns / 1e9 - 1.0;
    printf("%7u %5u %8.2f %8.2f %9.1f", workers, sinks, (double)world.messages / frames,
           (double)world.source_us / frames, whole_s);
    (void)fflush(stdout);
    p.nfaults = 1;
    p.faults[0] = (struct fault){.kind = FAULT_KILL,
                                 .slot = 1,
                                 .more = workers / 10 - 1,
                                 .frames = p.frames / 2,
                                 .lasts_ns = 3600 * SECOND};
    if (!world_run(&p, false)) {
        printf("  %s\n", world.wrong);
        return 1;
    }
    printf(" %9.1f %8.2f\n", (double)world.source_end_ns / 1e9 - 1.0 - whole_s,
           (double)world.source_us / frames);
    return 0;
}

int scale_table(void)
{
    static const unsigned rows[][2] = {{10, 1},   {10, 8},   {100, 1},   {100, 8}, {100, 64},
                                       {1000, 1}, {1000, 8}, {1000, 64}, {3000, 1}};
    printf("                 of a frame at the source      ends   a tenth is lost\n"
           "workers sinks messages       us         s   later, s       us\n");
    int status = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        status |= scale_row(rows[i][0], rows[i][1]);
    return status;
}
