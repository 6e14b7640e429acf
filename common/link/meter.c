#include "link/meter.h"

#include "base/clock.h"
#include "base/trace.h"

static const uint64_t CPU_STEP_NS = 10000000;

void meter_open(struct meter *m)
{
    *m = (struct meter){.begin_ns = clock_ns()};
    m->since_ns = m->begin_ns;
    (void)pthread_mutex_init(&m->mutex, NULL);
    if (pthread_getcpuclockid(pthread_self(), &m->thread_clock) != 0)
        m->thread_clock = CLOCK_PROCESS_CPUTIME_ID;
}

void meter_close(struct meter *m)
{
    (void)pthread_mutex_destroy(&m->mutex);
}

static uint64_t thread_cpu_ns(const struct meter *m)
{
    struct timespec used;
    if (clock_gettime(m->thread_clock, &used) != 0)
        return 0;
    return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

static bool is_computing(enum activity a)
{
    return a == ACTIVITY_BEGIN || a == ACTIVITY_COMPUTE;
}

void meter_switch(struct meter *m, enum activity next, uint64_t id)
{
    static const char *const names[] = {NULL,    "wait",    "decode", "copy",
                                        "begin", "compute", "encode", "send"};
    const uint64_t now_ns = clock_ns();
    const enum activity before = m->now;  // of the calling thread alone
    const uint64_t cpu_ns = is_computing(before) || is_computing(next) ? thread_cpu_ns(m) : 0;
    (void)pthread_mutex_lock(&m->mutex);
    const uint64_t since_ns = m->since_ns;
    if (is_computing(before))
        m->compute_cpu_ns += cpu_ns - m->cpu_since_ns;
    m->cpu_since_ns = cpu_ns;
    m->ns[before] += now_ns - since_ns;
    m->since_ns = now_ns;
    m->now = next;
    m->id = id;
    (void)pthread_mutex_unlock(&m->mutex);
    if (names[before])
        trace_span(names[before], id, since_ns, now_ns);
}

void meter_count_frame(struct meter *m)
{
    (void)pthread_mutex_lock(&m->mutex);
    m->frames++;
    (void)pthread_mutex_unlock(&m->mutex);
}

struct work meter_read(struct meter *m)
{
    uint64_t ns[ACTIVITIES];
    (void)pthread_mutex_lock(&m->mutex);
    const uint64_t now_ns = clock_ns(), frames = m->frames, compute_cpu_ns = m->compute_cpu_ns;
    for (int i = 0; i < ACTIVITIES; i++)
        ns[i] = m->ns[i];
    ns[m->now] += now_ns - m->since_ns;
    (void)pthread_mutex_unlock(&m->mutex);
    return (struct work){.frames = frames,
                         .time_ns = now_ns - m->begin_ns,
                         .compute_ns = ns[ACTIVITY_BEGIN] + ns[ACTIVITY_COMPUTE],
                         .codec_ns = ns[ACTIVITY_DECODE] + ns[ACTIVITY_COPY] + ns[ACTIVITY_ENCODE],
                         .wait_in_ns = ns[ACTIVITY_WAIT_IN],
                         .wait_out_ns = ns[ACTIVITY_WAIT_OUT],
                         .cpu_ns = clock_cpu_ns(),
                         .compute_cpu_ns = compute_cpu_ns};
}

uint64_t meter_cpu_steps(const struct meter *m)
{
    return thread_cpu_ns(m) / CPU_STEP_NS;
}
