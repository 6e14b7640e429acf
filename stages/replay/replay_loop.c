/* Numbers and times of the frames of --loop. */
#include "replay_loop.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/opt.h"

/* Number of frames of --loop=forever: practically endless, and exact in a double. */
static const uint64_t FOREVER = UINT64_C(1) << 53;

static void list_ids(struct replay_loop *l, const struct id_set *ids)
{
    for (size_t i = 0; i < ids->count; i++)
        for (uint64_t id = ids->ranges[i].first; id <= ids->ranges[i].last; id++)
            l->ids[l->count++] = id;
    const uint64_t hash = hash_finish(hash_bytes(HASH_START, l->ids, l->count * sizeof *l->ids));
    (void)snprintf(l->digest, sizeof l->digest, "%016" PRIx64, hash);
}

enum status replay_loop_begin(struct replay_loop *l, const char *text, struct id_set *ids,
                              struct error *e)
{
    int64_t rounds = 0;
    const bool forever = strcmp(text, "forever") == 0;
    const enum status s =
        forever ? STATUS_OK : parse_int(text, 1, 1000000, "--loop (or forever)", &rounds, e);
    if (s)
        return s;
    l->ids = mem_array(id_set_size(ids) + 1, sizeof *l->ids);
    if (!l->ids)
        return error_memory(e, "the list of frames");
    list_ids(l, ids);
    id_set_clear(ids);
    const uint64_t all = forever ? FOREVER : (uint64_t)rounds * l->count;
    if (l->count && !id_set_add_range(ids, (struct id_range){0, all - 1}))
        return error_memory(e, "the list of frames");
    return STATUS_OK;
}

static double recorded_ns(const struct replay_loop *l, const struct recording_list *frames,
                          uint64_t number)
{
    return (double)recording_list_find(frames, l->ids[number])->time_ns;
}

double replay_loop_time_ns(const struct replay_loop *l, const struct recording_list *frames,
                           uint64_t id)
{
    const double first_ns = recorded_ns(l, frames, 0),
                 span_ns = recorded_ns(l, frames, l->count - 1) - first_ns,
                 mean_ns = l->count > 1 ? span_ns / (double)(l->count - 1) : 0.0,
                 round_ns = span_ns > 0.0 ? span_ns + mean_ns : 0.0;
    return recorded_ns(l, frames, id % l->count) + (double)(id / l->count) * round_ns;
}

void replay_loop_free(struct replay_loop *l)
{
    mem_free(l->ids);
}
