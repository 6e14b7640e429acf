#include "link/bye.h"

#include "link/send.h"

void bye_say(struct links *ls, enum status status)
{
    const struct address nobody = {0};
    struct notice n = {.status = (int)status, .said = true};
    for (struct link *l = ls->first; l; l = l->next)
        if (l->answered && !l->gone)
            (void)send_notice(ls->run, l->port, &l->address, MESSAGE_BYE, &n);
    /* Who got our hello and has not answered yet must not take us for dead. */
    for (size_t i = 0; i < ls->nports; i++)
        if (ls->ports[i].greeted_ns && !link_of_port(ls, &ls->ports[i]))
            (void)send_notice(ls->run, &ls->ports[i], &nobody, MESSAGE_BYE, &n);
}

bool bye_is_due(struct links *ls)
{
    bool any = false;
    for (const struct link *l = ls->first; l; l = l->next) {
        if (l->port->up || l->peer.wants != (int)ls->run->role.gives)
            continue;
        if (!l->experiment_sent || !l->gone)
            return false;
        any = true;
    }
    return any;
}
