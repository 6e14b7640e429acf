/* Chooses sockets and ports, and which process binds them. */
#include "run/pipeline/endpoints.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/opt.h"
#include "run/hosts/hosts.h"

void endpoints_name(const struct pipeline_stage *s, int64_t i, char name[PROCESS_NAME_SIZE])
{
    if (s->count > 1)
        (void)snprintf(name, PROCESS_NAME_SIZE, "%s.%d", s->name, (int)i + 1);
    else
        (void)snprintf(name, PROCESS_NAME_SIZE, "%s", s->name);
}

static const char INPUT[] = ".in";

/* --- which process binds -------------------------------------------------- */

/* Returns true if stage number i can get more processes during the run: it is directly after the
 * source, and it and the stages after it are programs of braggpipe. */
static bool may_grow(const struct pipeline *p, int i)
{
    const struct pipeline_stage *source = pipeline_source(p);
    bool may =
        source && p->stages[i].input == source - p->stages && pipeline_is_ours(&p->stages[i]);
    for (size_t k = 0; k < p->nstages && may; k++)
        may = p->stages[k].input != i ||
              (pipeline_is_ours(&p->stages[k]) && p->stages[k].count <= OPT_TEXTS_MAX);
    return may;
}

/* Returns true if stage number i binds its input.  A stage after workers does, so that workers bind
 * nothing.  Otherwise, on several hosts the stage with fewer processes binds, so that few ports are
 * needed; on one host the stage before binds, unless it has too many processes to be listed. */
static bool binds_in(const struct pipeline *p, size_t i, bool one_host)
{
    const int input = p->stages[i].input;
    if (input < 0 || may_grow(p, input))
        return input >= 0;
    const int64_t before = p->stages[input].count;
    return before > p->stages[i].count && (!one_host || before > OPT_TEXTS_MAX);
}

/* Returns true if stage number i binds its output, for one of the stages after it. */
static bool binds_out(const struct pipeline *p, size_t i, bool one_host)
{
    for (size_t k = 0; k < p->nstages; k++)
        if (p->stages[k].input == (int)i && !binds_in(p, k, one_host))
            return true;
    return false;
}

/* --- one host ------------------------------------------------------------ */

/* Appends an option with a socket in the private folder.  `behind`: INPUT for the input socket. */
static void add_socket(struct argv *w, const char *option, const char *folder,
                       const struct pipeline_stage *s, int64_t i, const char *behind)
{
    char name[PROCESS_NAME_SIZE + 8];
    endpoints_name(s, i, name);
    (void)strcat(name, behind);
    argv_add(w, argv_join(option, folder, "/", name));
}

static void add_sockets(struct argv *w, const struct pipeline *p, size_t index, int64_t i,
                        const char *folder)
{
    const struct pipeline_stage *own = &p->stages[index];
    const bool listens = binds_in(p, index, true);
    if (listens)
        add_socket(w, "--in=@ipc://", folder, own, i, INPUT);
    for (int64_t k = 0; own->input >= 0 && !listens && k < p->stages[own->input].count; k++)
        add_socket(w, "--in=ipc://", folder, &p->stages[own->input], k, "");
    if (binds_out(p, index, true))
        add_socket(w, "--out=@ipc://", folder, own, i, "");
    for (size_t k = 0; k < p->nstages; k++)
        for (int64_t m = 0;
             p->stages[k].input == (int)index && binds_in(p, k, true) && m < p->stages[k].count;
             m++)
            add_socket(w, "--out=ipc://", folder, &p->stages[k], m, INPUT);
    if (own == pipeline_source(p) && !pipeline_has(own, "control"))
        argv_add(w, argv_join("--control=ipc://", folder, "/", "control"));
}

/* --- several hosts ------------------------------------------------------- */

bool endpoints_are_bound(const struct pipeline *p, size_t i, bool one_host)
{
    return binds_out(p, i, one_host) || binds_in(p, i, one_host) ||
           &p->stages[i] == pipeline_source(p);
}

size_t endpoints_ports(const struct pipeline *p, size_t i)
{
    return p->stages[i].after >= 0
               ? 0
               : (size_t)binds_out(p, i, false) + (size_t)binds_in(p, i, false) +
                     (&p->stages[i] == pipeline_source(p));
}

const struct place *placement_of(const struct placement *l, size_t index, int64_t i)
{
    static const struct place none = {0};
    return i < l->counts[index] ? &l->list[l->first[index] + (size_t)i] : &none;
}

/* Assigns ports to one process; *used counts the assigned ports of its host. */
static enum status give_ports(struct place *place, const struct pipeline *p, size_t i, size_t *used,
                              struct error *e)
{
    const struct host *host = place->host;
    const size_t wanted = endpoints_ports(p, i);
    if (*used + wanted > host->nports)
        return error_set(e, STATUS_FAILED, "host '%s' reported too few free ports", host->name);
    const bool takes_part = p->stages[i].after < 0;
    if (takes_part && binds_out(p, i, false))
        place->out = host->ports[(*used)++];
    if (takes_part && binds_in(p, i, false))
        place->in = host->ports[(*used)++];
    if (&p->stages[i] == pipeline_source(p))
        place->control = host->ports[(*used)++];
    return STATUS_OK;
}

enum status placement_make(struct placement *l, const struct pipeline *p, const struct hosts *hosts,
                           struct error *e)
{
    size_t total = 0;
    for (size_t i = 0; i < p->nstages; i++)
        total += (size_t)p->stages[i].count;
    size_t *used = mem_array(hosts->count, sizeof *used);
    *l = (struct placement){.list = mem_array(total, sizeof *l->list)};
    enum status s = used && l->list ? STATUS_OK : error_memory(e, "the placement");
    for (size_t i = 0; i < p->nstages; i++) {
        l->first[i] = l->count;
        l->counts[i] = p->stages[i].count;
        for (int64_t k = 0; k < p->stages[i].count && s == STATUS_OK; k++) {
            const size_t at = hosts_place(hosts, &p->stages[i], k);
            struct place *place = &l->list[l->count++];
            place->host = &hosts->list[at];
            s = give_ports(place, p, i, &used[at], e);
        }
    }
    mem_free(used);
    return s;
}

void placement_free(struct placement *l)
{
    mem_free(l->list);
    *l = (struct placement){0};
}

static void add_tcp(struct argv *w, const char *option, const struct host *host, int port)
{
    char tail[16];
    const bool six = strchr(host->address, ':') != NULL;
    (void)snprintf(tail, sizeof tail, "%s:%d", six ? "]" : "", port);
    argv_add(w, argv_join(option, six ? "tcp://[" : "tcp://", host->address, tail));
}

static void add_ports(struct argv *w, const struct pipeline *p, size_t index, int64_t i,
                      const struct placement *l)
{
    const struct place *own = placement_of(l, index, i);
    const int input = p->stages[index].input;
    if (own->in)
        add_tcp(w, "--in=@", own->host, own->in);
    for (int64_t k = 0; input >= 0 && !own->in && k < p->stages[input].count; k++) {
        const struct place *up = placement_of(l, (size_t)input, k);
        add_tcp(w, "--in=", up->host, up->out);
    }
    if (own->out)
        add_tcp(w, "--out=@", own->host, own->out);
    for (size_t k = 0; k < p->nstages; k++)
        for (int64_t m = 0;
             p->stages[k].input == (int)index && binds_in(p, k, false) && m < p->stages[k].count;
             m++) {
            const struct place *down = placement_of(l, k, m);
            add_tcp(w, "--out=", down->host, down->in);
        }
    if (own->control && !pipeline_has(&p->stages[index], "control"))
        add_tcp(w, "--control=", own->host, own->control);
}

void endpoints_add(struct argv *w, const struct pipeline *p, size_t index, int64_t i,
                   const struct command_settings *settings)
{
    if (settings->placement)
        add_ports(w, p, index, i, settings->placement);
    else
        add_sockets(w, p, index, i, settings->folder);
}
