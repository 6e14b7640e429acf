/* The second and the third process: frames arrive through stdin and leave through stdout. */
#include <unistd.h>

#include "base/hash.h"
#include "hand.h"

enum status hand_open(struct hand_work *w, const struct run *run, int64_t size, struct error *e)
{
    struct words words;
    (void)run;
    *w = (struct hand_work){.noise = after_noises[0], .pixels = (size_t)(size * size)};
    float *photons = mem_array(w->pixels, sizeof *photons);
    workload_words(&workloads[0], size, &words);
    enum status s = workload_build(&workloads[0], &words, PHYSICS_PHYSICAL, &w->x, &w->r, e);
    if (!s)
        s = photons ? after_water(&w->material, e) : error_memory(e, "the background");
    if (!s)
        after_set_brightest(&w->x, &w->material, 10.0, photons);
    mem_free(photons);
    return s;
}

void hand_close(struct hand_work *w, const struct run *run)
{
    if (w->plan)
        run->engine->destroy(&w->plan);
    amorphous_free(&w->material.table);
    recipe_free(&w->r);
    experiment_free(&w->x);
}

struct child {
    struct hand_work work;
    const struct card *card;
    bool counts;                          // the third one
    struct image from[HAND_SLOTS];        // of the process before; `card` is NULL at first
    struct image to[HAND_SLOTS];          // of this one; of the third one the first alone, here
    struct card_handle name[HAND_SLOTS];  // of these
};

static enum status child_open(struct child *c, const struct run *run, struct error *e)
{
    struct engine_options how = run->options;
    struct engine_after after = {.type = PIXEL_F32};
    how.after = true;
    enum status s = run->engine->create(&c->work.plan, &c->work.x, &how, e);
    if (c->counts)
        after = (struct engine_after){.noise = &c->work.noise, .type = PIXEL_U16};
    else
        after = (struct engine_after){.materials = &c->work.material, .nmaterials = 1};
    if (!s)
        s = run->engine->prepare(c->work.plan, &after, e);
    if (s)
        return s;
    c->card = run->engine->card(c->work.plan);
    for (int i = 0; i < HAND_SLOTS && !s; i++) {
        c->from[i] = (struct image){.type = PIXEL_F32, .count = c->work.pixels};
        c->to[i] = (struct image){.type = PIXEL_F32, .count = c->work.pixels};
        if (!c->counts)
            s = c->card->reserve(c->card, c->work.pixels * sizeof(float), &c->to[i].card,
                                 &c->name[i], e);
    }
    const size_t bytes = c->work.pixels * sizeof(uint16_t);
    if (c->counts) {
        c->to[0].pixels = mem_array(bytes, 1);
        s = c->to[0].pixels ? run->engine->pin(c->work.plan, c->to[0].pixels, bytes, e)
                            : error_memory(e, "the counts");
    }
    return s;
}

static void child_close(struct child *c, const struct run *run)
{
    for (int i = 0; i < HAND_SLOTS && c->card; i++) {
        if (c->from[i].card)
            c->card->close(c->card, c->from[i].card);
        if (c->to[i].card)
            c->card->release(c->card, c->to[i].card);
    }
    if (c->card)
        run->engine->unpin(c->work.plan);
    mem_free(c->to[0].pixels);
    hand_close(&c->work, run);
}

static enum status tell(const void *what, size_t bytes, struct error *e)
{
    return write(STDOUT_FILENO, what, bytes) == (ssize_t)bytes
               ? STATUS_OK
               : error_errno(e, STATUS_FAILED, "the next process");
}

static enum status one(struct child *c, const struct run *run, struct hand *h, struct error *e)
{
    const int slot = (int)(h->id % HAND_SLOTS);
    struct image *from = &c->from[slot], *to = &c->to[c->counts ? 0 : slot];
    enum status s = STATUS_OK;
    if (!from->card)
        s = c->card->open(c->card, &h->image, c->work.pixels * sizeof(float), &from->card, e);
    c->work.r.id = h->id;
    if (!s)
        s = run->engine->go_on(c->work.plan, &c->work.r, HAND_SEED, from, to, e);
    if (s)
        return s;
    if (!c->counts) {
        h->image = c->name[slot];
        return tell(h, sizeof *h, e);
    }
    const uint32_t sum = h->summed ? crc32c(0, to->pixels, c->work.pixels * sizeof(uint16_t)) : 0;
    return tell(&(struct handed){h->id, sum}, sizeof(struct handed), e);
}

static enum status child(const struct run *run, const int64_t *numbers, bool counts,
                         struct error *e)
{
    struct child *c = mem_array(1, sizeof *c);
    struct hand h;
    if (!c)
        return error_memory(e, "the frames");
    enum status s = hand_open(&c->work, run, numbers[0], e);
    c->counts = counts;
    if (!s)
        s = child_open(c, run, e);
    while (!s && read(STDIN_FILENO, &h, sizeof h) == (ssize_t)sizeof h)
        s = one(c, run, &h, e);
    child_close(c, run);
    mem_free(c);
    return s;
}

enum status check_hand_sums(struct run *run, const int64_t *numbers, struct error *e)
{
    return child(run, numbers, false, e);
}

enum status check_hand_counts(struct run *run, const int64_t *numbers, struct error *e)
{
    return child(run, numbers, true, e);
}
