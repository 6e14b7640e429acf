#include <inttypes.h>
#include <stdio.h>

#include "world.h"

static const char *const fault_names[] = {"killed",  "frozen",  "hangs",  "vanishes", "cut",
                                          "stalled", "damaged", "leaves", "late"};

/* For how long a fault may keep somebody from hearing the source: with the time to find it again.
 */
static uint64_t silence_ns(const struct plan *p, const struct fault *f)
{
    static const uint64_t FIND_NS = 7 * SECOND / 10, RECONNECT_NS = SECOND / 5;
    const uint64_t patience_ns = (uint64_t)(p->dead_after_s * 1e9);
    const bool source = f->slot == 0;
    switch (f->kind) {
    case FAULT_KILL:
        return source ? f->lasts_ns + FIND_NS : 0;
    case FAULT_VANISH:
        return !source ? 0 : FIND_NS + (f->lasts_ns > patience_ns ? f->lasts_ns : patience_ns);
    case FAULT_FREEZE:
        return source ? f->lasts_ns : 0;
    case FAULT_HANG:
        return 0;
    case FAULT_CUT:
        return RECONNECT_NS;
    default:
        return f->lasts_ns;
    }
}

/* About how long a run takes to which nothing happens. */
static uint64_t usual_ns(const struct plan *p)
{
    const unsigned side_by_side = p->groups ? 1 : p->sinks < p->workers ? p->sinks : p->workers;
    return 60 * MILLISECOND + p->frames * p->compute_ns / side_by_side;
}

/* At any time; with the frames, often with the last one; soon after another fault, or when that is
 * about to be found. */
static void when(const struct plan *p, const struct fault *before, struct fault *f)
{
    if (before && draw(2)) {
        f->frames = before->frames;
        f->at_ns = before->at_ns + draw(20 * p->latency_ns);
        if (draw(2))
            f->at_ns += (uint64_t)(p->dead_after_s * 1e9);
    } else if (draw(2)) {
        f->frames = draw(4) ? 1 + draw(p->frames) : p->frames;
        f->at_ns = draw(8 * p->latency_ns);
    }
}

/* `left_ns` is for how long the source may be silent before somebody must give up.  Where that is
 * not enough a worker is killed instead. */
static struct fault draw_fault(const struct plan *p, const struct fault *before, uint64_t *left_ns)
{
    const uint64_t patience_ns = (uint64_t)(p->dead_after_s * 1e9);
    struct fault f = {.kind = (enum fault_kind)draw(p->network ? FAULT_KINDS : FAULTS_LOCAL),
                      .slot = (unsigned)draw(1 + p->workers + p->sinks),
                      .at_ns = draw(usual_ns(p))};
    when(p, before, &f);
    f.lasts_ns = draw(3) ? draw(patience_ns) : draw(3 * patience_ns);
    if (silence_ns(p, &f) > *left_ns) {
        f.kind = FAULT_KILL;
        f.slot = 1 + (unsigned)draw(p->workers);
    }
    *left_ns -= silence_ns(p, &f);
    return f;
}

struct plan plan_of(uint64_t seed)
{
    draw_begin(seed);
    struct plan p = {.seed = seed,
                     .network = draw(2),
                     .handover = draw(2),
                     .workers = 1 + (unsigned)draw(4),
                     .sinks = 1 + (unsigned)draw(2),
                     .frames = 200,
                     .window = 4 + draw(60),
                     .dead_after_s = (double)(8 + draw(20)) / 10,
                     .latency_ns = MILLISECOND / 20 << draw(7),
                     .compute_ns = MILLISECOND / 10 << draw(6)};
    static const uint64_t sizes[] = {64, 64, 8 << 20, 128 << 20};
    p.image_bytes = sizes[draw(4)];
    p.groups = p.sinks > 1 && draw(2);
    p.order = (p.groups || p.sinks == 1) && !draw(3);
    /* Other processes wait twice as long, from the last heartbeat on, with clocks that may be
     * faster. An idle process sends its heartbeat up to 100 ms late. */
    uint64_t left_ns = (uint64_t)(p.dead_after_s * 1.78e9) - SECOND / 10;
    p.nfaults = draw(4) ? draw(1 + draw(FAULTS_MAX)) : 0;
    for (size_t i = 0; i < p.nfaults; i++)
        p.faults[i] = draw_fault(&p, i ? &p.faults[i - 1] : NULL, &left_ns);
    if (p.workers > 1 && p.nfaults < FAULTS_MAX && !draw(4))
        p.faults[p.nfaults++] = (struct fault){.kind = FAULT_LEAVE,
                                               .slot = 1 + (unsigned)draw(p.workers),
                                               .at_ns = draw(usual_ns(&p))};
    p.guests = !draw(3);
    p.room = p.network || draw(12) ? 0 : 1 + draw(p.frames);
    if (p.nfaults < FAULTS_MAX && !draw(4))
        p.faults[p.nfaults++] = (struct fault){.kind = FAULT_LATE,
                                               .slot = (unsigned)draw(1 + p.workers + p.sinks),
                                               .at_ns = draw(2 * usual_ns(&p))};
    p.drift_ppm = draw(4) ? 0 : 1 + (unsigned)draw(10000);
    p.memory = (p.groups || p.sinks == 1) && !p.order && !draw(3);
    return p;
}

bool plan_is_calm(const struct plan *plan)
{
    bool calm = true;
    for (size_t i = 0; i < plan->nfaults; i++)
        calm &= plan->faults[i].kind == FAULT_LEAVE || plan->faults[i].kind == FAULT_LATE;
    return calm;
}

void plan_name(const struct plan *p, unsigned slot, char name[NAME_SIZE])
{
    if (!slot)
        (void)snprintf(name, NAME_SIZE, "source");
    else if (slot <= p->workers)
        (void)snprintf(name, NAME_SIZE, "worker %u", slot);
    else
        (void)snprintf(name, NAME_SIZE, "sink %u", slot - p->workers);
}

void plan_tell(const struct plan *p, char *text, size_t size)
{
    int n = snprintf(text, size,
                     "%s, %u worker%s, %u sink%s, %" PRIu64 " frames, window %" PRIu64
                     ", dead after %.1f s, %" PRIu64 " us latency, %" PRIu64 " us a frame, %" PRIu64
                     " bytes of image%s%s%s%s%s",
                     p->network ? "tcp" : "ipc", p->workers, p->workers > 1 ? "s" : "", p->sinks,
                     p->sinks > 1 ? "s" : "", p->frames, p->window, p->dead_after_s,
                     p->latency_ns / 1000, p->compute_ns / 1000, p->image_bytes,
                     p->handover ? ", handover" : "", p->order ? ", in order" : "",
                     p->groups ? ", each sink all" : "", p->guests ? ", guests" : "",
                     p->memory ? ", in memory" : "");
    if (p->room && (size_t)n < size)
        n += snprintf(text + n, size - (size_t)n, "; disks have room for %" PRIu64 " frames",
                      p->room);
    if (p->drift_ppm && (size_t)n < size)
        n += snprintf(text + n, size - (size_t)n, "; clocks differ by %u ppm", p->drift_ppm);
    for (size_t i = 0; i < p->nfaults && (size_t)n < size; i++) {
        char name[NAME_SIZE];
        const struct fault *f = &p->faults[i];
        plan_name(p, f->slot, name);
        n += snprintf(text + n, size - (size_t)n, "; %s %s at %.1f ms", name, fault_names[f->kind],
                      (double)f->at_ns / 1e6);
        if (f->frames && (size_t)n < size)
            n += snprintf(text + n, size - (size_t)n, " after %" PRIu64 " frames", f->frames);
        if (f->lasts_ns && f->kind != FAULT_CUT && (size_t)n < size)
            n += snprintf(text + n, size - (size_t)n, " for %.1f ms", (double)f->lasts_ns / 1e6);
    }
}
