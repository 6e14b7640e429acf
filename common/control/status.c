/* Watchers ask, and the source keeps nothing but where the latest of them are. */
#include "control/stream.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "link/links.h"

enum { STRANGERS_MAX = 16 };  // processes that frames never reached

static struct process_status own_status(struct stream *s)
{
    struct id_set ids = credit_ids(s->links);
    struct process_status p = {
        .pid = getpid(), .held = id_set_size(&ids), .work = links_work(s->links)};
    (void)snprintf(p.host, sizeof p.host, "%s", host_name());
    (void)snprintf(p.stage, sizeof p.stage, "%s", s->run->role.name);
    id_set_clear(&ids);
    return p;
}

static struct process_status status_of(const struct peer *peer)
{
    struct process_status p = {.pid = peer->hello.pid,
                               .hops = peer->hops,
                               .held = peer->held,
                               .durable = peer->hello.durable,
                               .work = peer->work};
    memcpy(p.host, peer->hello.host, sizeof p.host);
    memcpy(p.stage, peer->hello.stage, sizeof p.stage);
    memcpy(p.group, peer->hello.group, sizeof p.group);
    return p;
}

/* Peers in the order of the stream, those of one stage together, as they came. */
static void insert(struct run_status *r, const struct process_status *p)
{
    if (r->nprocesses == STATUS_PROCESSES_MAX) {
        r->unlisted++;
        return;
    }
    size_t at = 1;
    for (; at < r->nprocesses; at++) {
        const struct process_status *other = &r->processes[at];
        const int group = strcmp(p->group, other->group);
        if (p->hops < other->hops || (p->hops == other->hops && group <= 0))
            break;
    }
    memmove(&r->processes[at + 1], &r->processes[at], (r->nprocesses - at) * sizeof *r->processes);
    r->processes[at] = *p;
    r->nprocesses++;
}

static void list_fenced(const struct stream *s, struct run_status *r, uint64_t now_ns)
{
    const size_t older = s->nfenced > STATUS_FENCED_MAX ? s->nfenced - STATUS_FENCED_MAX : 0;
    for (size_t i = older; i < s->nfenced; i++) {
        const struct fenced *f = &s->fenced[i % STATUS_FENCED_MAX];
        r->fenced[r->nfenced] = f->told;
        r->fenced[r->nfenced++].ago_ns = now_ns - f->fenced_ns;
    }
}

static enum status make_status(struct stream *s, struct run_status *r, struct error *e)
{
    const struct exchange_view view = exchange_look(&s->links->exchange);
    *r = (struct run_status){.known = s->ready_ns,
                             .total = s->window.total,
                             .issued = view.issued,
                             .acknowledged = s->open_ns ? window_count_done(&s->window) : 0,
                             .window = s->window.size,
                             .elapsed_ns = s->open_ns ? clock_ns() - s->open_ns : 0,
                             .given_up = s->given_up,
                             .processes = mem_array(STATUS_PROCESSES_MAX, sizeof *r->processes),
                             .fenced = mem_array(STATUS_FENCED_MAX, sizeof *r->fenced)};
    if (!r->processes || !r->fenced)
        return error_memory(e, "the status");
    r->processes[r->nprocesses++] = own_status(s);
    list_fenced(s, r, clock_ns());
    size_t strangers = 0;
    for (const struct peer *p = s->roster.first; p; p = p->next) {
        const struct process_status one = status_of(p);
        if (!peer_is_here(p))
            continue;
        strangers += p->standing == PEER_NEW;
        if (p->standing == PEER_IN || strangers <= STRANGERS_MAX)
            insert(r, &one);
        else
            r->unlisted++;
    }
    return STATUS_OK;
}

static void send_status(struct stream *s, const struct address *to)
{
    struct run_status r;
    struct message m = {0};
    enum status made = make_status(s, &r, NULL);
    if (made == STATUS_OK)
        made = control_status_encode(&r, &m, NULL);
    (void)send_message(s->run, &s->run->control, to, MESSAGE_STATUS, &m, made);
    run_status_free(&r);
}

void status_answer(struct stream *s, const struct address *from)
{
    size_t i = 0;
    while (i < s->nwatchers && i < WATCHERS_MAX && !address_equal(&s->watchers[i], from))
        i++;
    if (i == s->nwatchers || i == WATCHERS_MAX)
        s->watchers[s->nwatchers++ % WATCHERS_MAX] = *from;
    send_status(s, from);
    if (s->free_ns)
        status_end(s, peer_end_status(s));
}

void status_end(struct stream *s, enum status status)
{
    struct notice n = {.status = (int)status};
    for (size_t i = 0; i < s->nwatchers && i < WATCHERS_MAX; i++) {
        send_status(s, &s->watchers[i]);
        (void)send_notice(s->run, &s->run->control, &s->watchers[i], MESSAGE_FREE, &n);
    }
    s->nwatchers = 0;
}
