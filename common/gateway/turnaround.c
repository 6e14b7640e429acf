#include "gateway/turnaround.h"

#include <math.h>
#include <string.h>

static const double STEP = 1.02, SHORTEST_NS = 1000;

void latency_open(struct latency *t)
{
    *t = (struct latency){0};
    (void)pthread_mutex_init(&t->mutex, NULL);
}

void latency_answered(struct latency *t, const void *address, uint8_t size, uint64_t now_ns)
{
    (void)pthread_mutex_lock(&t->mutex);
    struct latency_client *c = &t->clients[t->next];
    t->next = (t->next + 1) % LATENCY_CLIENTS;
    *c = (struct latency_client){.size = size, .since_ns = now_ns};
    memcpy(c->address, address, size);
    (void)pthread_mutex_unlock(&t->mutex);
}

static void count(struct latency *t, uint64_t ns)
{
    const double took_ns = fmax((double)ns, SHORTEST_NS);
    const double bin = floor(log(took_ns / SHORTEST_NS) / log(STEP));
    t->bins[(size_t)fmin(bin, LATENCY_BINS - 1)]++;
    t->count++;
}

void latency_asked(struct latency *t, const void *address, uint8_t size, uint64_t now_ns)
{
    (void)pthread_mutex_lock(&t->mutex);
    for (size_t i = 0; i < LATENCY_CLIENTS; i++) {
        struct latency_client *c = &t->clients[i];
        if (!c->since_ns || c->size != size || memcmp(c->address, address, size) != 0)
            continue;
        count(t, now_ns - c->since_ns);
        c->since_ns = 0;
        break;
    }
    (void)pthread_mutex_unlock(&t->mutex);
}

static double quantile_s(const struct latency *t, double share)
{
    uint64_t below = 0;
    for (size_t i = 0; i < LATENCY_BINS; i++) {
        below += t->bins[i];
        if (below && (double)below >= share * (double)t->count)
            return SHORTEST_NS * 1e-9 * pow(STEP, (double)i + 0.5);
    }
    return 0;
}

uint64_t latency_quantiles(struct latency *t, const double *shares, double *quantiles_s,
                           size_t count)
{
    (void)pthread_mutex_lock(&t->mutex);
    for (size_t i = 0; i < count; i++)
        quantiles_s[i] = quantile_s(t, shares[i]);
    const uint64_t times = t->count;
    (void)pthread_mutex_unlock(&t->mutex);
    return times;
}
