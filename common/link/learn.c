#include "link/learn.h"

#include <string.h>

enum status learn_check_control(const struct links *ls, struct error *e)
{
    const char *control = ls->run->control_told;
    for (size_t i = 0; i < ls->nports && control[0] && endpoint_is_local(control); i++) {
        const struct port *p = &ls->ports[i];
        if (!p->up && !endpoint_is_local(p->endpoint))
            return error_set(e, STATUS_USAGE,
                             "stages on other hosts, to which --out=%s%s leads, cannot reach the "
                             "source at %s: give the stage that numbers the frames "
                             "--control=tcp://HOST:PORT",
                             p->bound ? "@" : "", p->endpoint, control);
    }
    return STATUS_OK;
}

void learn_run(struct links *ls, uint64_t id, const char *control, const struct port *via)
{
    struct run *run = ls->run;
    if (run->known)
        return;
    run->id = id;
    run->known = true;
    ls->stirred = true;
    if (run->control.bound)
        return;
    struct error e;
    memcpy(run->control.endpoint, control, strlen(control) + 1);
    if (!via->bound)
        endpoint_resolve(run->control.endpoint, via->endpoint);
    /* All interfaces of this host: the next stages resolve that where they find this one. */
    const char *told =
        control[0] && endpoint_is_local(run->control.endpoint) ? control : run->control.endpoint;
    memcpy(run->control_told, told, strlen(told) + 1);
    if (learn_check_control(ls, &e) != STATUS_OK)
        run_stop(run, e.status, "%s", e.text);
}
