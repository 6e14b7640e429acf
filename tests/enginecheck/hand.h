/*
 * Frames that three processes on one GPU pass on, as bragg-intensity, bragg-background and
 * bragg-noise do.  Photons, and photons with background, stay on the GPU, and counts are copied to
 * main memory.  Pipes carry the messages of a link.
 */
#ifndef BRAGG_TESTS_ENGINECHECK_HAND_H
#define BRAGG_TESTS_ENGINECHECK_HAND_H

#include "../unit/after_case.h"
#include "check.h"

enum { HAND_SLOTS = 4 };  // images of a process that are under way at most
#define HAND_SEED UINT64_C(77)

/* A frame on its way to the next process. */
struct hand {
    uint64_t id;
    struct card_handle image;  // in slot id % HAND_SLOTS
    bool summed;               // its sum is wanted in the end
};

/* What the last one says of it. */
struct handed {
    uint64_t id;
    uint32_t sum;  // CRC-32C of the counts
};

/* What all three make in the same way: the first workload, water and noise. */
struct hand_work {
    struct experiment x;
    struct recipe r;
    struct background_material material;
    struct noise noise;
    struct plan *plan;
    size_t pixels;
};

/* hand_close frees *w, after an error too. */
enum status hand_open(struct hand_work *w, const struct run *run, int64_t size, struct error *e);
void hand_close(struct hand_work *w, const struct run *run);

#endif
