/* Decides when client programs (key `after`) may start. */
#include "run/display/followers.h"

bool followers_may_start(const struct process *processes, size_t count,
                         const struct pipeline_stage *stage)
{
    bool ready = false, ended = true;
    for (size_t i = 0; i < count; i++) {
        const struct process *p = &processes[i];
        if (p->command->stage != stage)
            continue;
        ready |= p->ready;
        ended &= p->ended_ns && !p->pid && !p->start_ns && p->status == 0;
    }
    return ready || ended;
}
