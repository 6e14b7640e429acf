#include "shrink.h"

#include <string.h>

/* Returns true if two violations differ only in their numbers. */
static bool same(const char *a, const char *b)
{
    static const char digits[] = "0123456789.";
    for (;; a++, b++) {
        a += strspn(a, digits);
        b += strspn(b, digits);
        if (*a != *b || !*a)
            return *a == *b;
    }
}

/* Takes a smaller plan if that fails likewise. */
static bool try(struct plan *plan, struct plan smaller, const char *wrong)
{
    if (world_run(&smaller, false) || !same(world.wrong, wrong))
        return false;
    *plan = smaller;
    return true;
}

static struct plan without_fault(const struct plan *plan, size_t i)
{
    struct plan p = *plan;
    p.nfaults--;
    memmove(&p.faults[i], &p.faults[i + 1], (p.nfaults - i) * sizeof *p.faults);
    return p;
}

/* Without the process of a slot, which suffers nothing. */
static struct plan without_slot(const struct plan *plan, unsigned slot)
{
    struct plan p = *plan;
    *(slot <= p.workers ? &p.workers : &p.sinks) -= 1;
    p.groups &= p.sinks > 1;
    for (size_t i = 0; i < p.nfaults; i++)
        p.faults[i].slot -= p.faults[i].slot > slot;
    return p;
}

static bool suffers(const struct plan *p, unsigned slot)
{
    for (size_t i = 0; i < p->nfaults; i++)
        if (p->faults[i].slot == slot)
            return true;
    return false;
}

static bool shrink_once(struct plan *plan, const char *wrong)
{
    bool any = false;
    for (size_t i = plan->nfaults; i-- > 0;)
        any |= try(plan, without_fault(plan, i), wrong);
    for (unsigned slot = plan->workers + plan->sinks; slot > 0; slot--)
        if (!suffers(plan, slot) && (slot <= plan->workers ? plan->workers : plan->sinks) > 1)
            any |= try(plan, without_slot(plan, slot), wrong);
    struct plan steady = *plan;
    steady.drift_ppm = 0;
    any |= plan->drift_ppm && try(plan, steady, wrong);
    for (uint64_t less = plan->frames / 2; less; less /= 2) {
        struct plan fewer = *plan;
        fewer.frames -= less;
        for (size_t i = 0; i < fewer.nfaults; i++)
            fewer.faults[i].frames =
                fewer.faults[i].frames > fewer.frames ? fewer.frames : fewer.faults[i].frames;
        any |= fewer.frames && try(plan, fewer, wrong);
    }
    return any;
}

struct plan shrink(struct plan plan)
{
    char wrong[sizeof world.wrong];
    memcpy(wrong, world.wrong, sizeof wrong);
    while (shrink_once(&plan, wrong))
        continue;
    return plan;
}
