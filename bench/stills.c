#include "stills.h"

#include "base/clock.h"

enum status still_open(struct still *s, struct error *e)
{
    return engine_cpu.create(&s->plan, &s->x,
                             &(struct engine_options){.threads = 1, .faint = s->faint}, e);
}

enum status stills_run(struct bench *b, struct still *stills, int count, float *image,
                       struct error *e)
{
    enum status status = STATUS_OK;
    for (int64_t round = -1; round < b->o.iterations && !status; round++)
        for (int i = 0; i < count && !status; i++) {
            const uint64_t cpu = clock_cpu_ns(), wall = clock_ns();
            status = engine_cpu.run(stills[i].plan, &stills[i].r, image, NULL, e);
            if (round >= 0)
                timing_add(&stills[i].timing, (double)(clock_cpu_ns() - cpu),
                           (double)(clock_ns() - wall));
        }
    return status;
}

void stills_close(struct still *stills, int count)
{
    for (int i = 0; i < count; i++) {
        if (stills[i].plan)
            engine_cpu.destroy(&stills[i].plan);
        recipe_free(&stills[i].r);
        experiment_free(&stills[i].x);
    }
}
