#include "link/leave.h"

/* Something is on its way here, or was not taken yet by who is after this process. */
static bool is_at_work(const struct link *l)
{
    if (l->gone || l->lost_ns)
        return false;
    return l->port->up ? l->promised > 0 : l->nsent > 0;
}

void leave_check(struct links *ls)
{
    bool busy = ls->nheld;
    for (const struct link *l = ls->first; l && !busy; l = l->next)
        busy = is_at_work(l);
    if (!busy)
        (void)run_end(ls->run, ENDING_DEPARTED, STATUS_OK);
}
