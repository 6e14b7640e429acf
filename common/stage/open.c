/* Sets up and takes down what the two threads share. */
#include "stage/runtime.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <zmq.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/program.h"
#include "link/fused.h"

enum { DESCRIPTORS_MIN = 64, GOODBYE_MS = 50 };

const char *kind_name(enum kind kind)
{
    static const char *const names[] = {"nothing", "experiment", "recipe", "image", "anything"};
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "?";
}

static enum status random_names(struct runtime *rt, struct error *e)
{
    uint64_t bits[3];
    if (getrandom(bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return error_errno(e, STATUS_FAILED, "no random numbers");
    (void)snprintf(rt->uuid, sizeof rt->uuid, "%016" PRIx64 "%016" PRIx64, bits[0], bits[1]);
    rt->incarnation = 1;
    rt->former_run = rejoin_former_run();
    if (rt->stage->wants == KIND_NONE) {
        rt->run = bits[2];
        rt->run_known = true;
    }
    return STATUS_OK;
}

/* Binds or connects one more endpoint of the data plane. */
static enum status add_port(struct runtime *rt, const char *text, bool up, struct error *e)
{
    struct port *p = &rt->ports[rt->nports];
    *p = (struct port){.up = up};
    enum status s = endpoint_parse(text, true, &p->bound, p->endpoint, e);
    if (s == STATUS_OK && p->bound)
        s = endpoint_clear(p->endpoint, e);
    if (s == STATUS_OK)
        s = port_open(rt->context, &rt->curve, p->bound, p->endpoint, cut_part_max(rt, up),
                      &p->socket, &p->watch, e);
    if (p->socket)
        rt->nports++;
    if (s)
        p->bound = false;  // what is not ours is not removed
    return s;
}

static enum status private_folder(struct runtime *rt, struct error *e)
{
    return rt->folder.path[0] ? STATUS_OK : folder_open(&rt->folder, e);
}

/* The pipe's port comes first in the list. */
static enum status open_stdout(struct runtime *rt, struct error *e)
{
    char text[ENDPOINT_SIZE + 16];
    const enum status s = private_folder(rt, e);
    if (s)
        return s;
    (void)snprintf(text, sizeof text, "@ipc://%s/data", rt->folder.path);
    rt->out.used = true;
    return add_port(rt, text, false, e);
}

/* Where the source listens: as asked; on the interface of a tcp output, better one that other
 * hosts reach; or privately. */
static enum status choose_control(struct runtime *rt, char text[ENDPOINT_SIZE + 16],
                                  struct error *e)
{
    const struct port *first = NULL;
    for (size_t i = 0; i < rt->nports; i++) {
        const struct port *p = &rt->ports[i];
        if (!p->up && endpoint_is_network(p->endpoint) &&
            (!first || (endpoint_is_local(first->endpoint) && !endpoint_is_local(p->endpoint))))
            first = p;
    }
    if (rt->options.control) {
        (void)snprintf(text, ENDPOINT_SIZE + 16, "@%s",
                       rt->options.control + (*rt->options.control == '@'));
    } else if (first && first->bound) {
        const char *colon = strrchr(first->endpoint, ':');
        (void)snprintf(text, ENDPOINT_SIZE + 16, "@%.*s:*", (int)(colon - first->endpoint),
                       first->endpoint);
    } else if (first && !endpoint_is_local(first->endpoint)) {
        return error_set(e, STATUS_USAGE,
                         "--out=%s leads to another host: say --control=ENDPOINT, where the "
                         "stages over there reach this one",
                         first->endpoint);
    } else if (first) {
        (void)snprintf(text, ENDPOINT_SIZE + 16, "@tcp://127.0.0.1:*");
    } else {
        const enum status s = private_folder(rt, e);
        if (s)
            return s;
        (void)snprintf(text, ENDPOINT_SIZE + 16, "@ipc://%s/control", rt->folder.path);
    }
    return STATUS_OK;
}

static enum status open_control(struct runtime *rt, struct error *e)
{
    char text[ENDPOINT_SIZE + 16];
    bool bind;
    enum status s = choose_control(rt, text, e);
    if (s == STATUS_OK)
        s = endpoint_parse(text, true, &bind, rt->control, e);
    if (s == STATUS_OK)
        s = endpoint_clear(rt->control, e);
    if (s == STATUS_OK)
        s = port_open(rt->context, &rt->curve, true, rt->control, PORT_WORDS_MAX,
                      &rt->control_socket, &rt->control_watch, e);
    memcpy(rt->control_told, rt->control, sizeof rt->control_told);
    rt->control_local = s == STATUS_OK;
    if (s == STATUS_OK)
        s = start_check_control(rt, e);
    if (s == STATUS_OK)
        log_line(LOG_INFO, "bragg-top %s shows what goes on", rt->control);
    return s ? s : source_open(rt, e);
}

static enum status open_endpoints(struct runtime *rt, struct error *e)
{
    const struct runtime_options *o = &rt->options;
    enum status s = STATUS_OK;
    rt->in.used = rt->stage->wants != KIND_NONE && !o->in.count;
    if (rt->stage->gives != KIND_NONE && !o->out.count)
        s = open_stdout(rt, e);
    for (size_t i = 0; i < o->out.count && s == STATUS_OK; i++)
        s = add_port(rt, o->out.text[i], false, e);
    for (size_t i = 0; i < o->in.count && s == STATUS_OK; i++)
        s = add_port(rt, o->in.text[i], true, e);
    return s == STATUS_OK && stage_is_source(rt->stage) ? open_control(rt, e) : s;
}

/* From here on signals arrive at the I/O thread only; those that the process was
 * started to ignore (nohup, a background job) stay ignored. */
static enum status take_signals(struct runtime *rt, struct error *e)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t mine;
    (void)sigemptyset(&mine);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction before;
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaddset(&mine, numbers[i]);
    }
    (void)pthread_sigmask(SIG_BLOCK, &mine, NULL);
    rt->signals = signalfd(-1, &mine, SFD_CLOEXEC | SFD_NONBLOCK);
    return rt->signals < 0 ? error_errno(e, STATUS_FAILED, "cannot receive signals") : STATUS_OK;
}

/* libzmq aborts when it gets no more file descriptors: as many as the system allows. */
static enum status take_descriptors(struct error *e)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return STATUS_OK;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur >= DESCRIPTORS_MIN)
        return STATUS_OK;
    return error_set(e, STATUS_FAILED, "only %d open files are allowed (ulimit -n), must be %d",
                     (int)files.rlim_cur, DESCRIPTORS_MIN);
}

enum status runtime_open(struct runtime *rt, struct error *e)
{
    (void)mallopt(M_ARENA_MAX, 1);  // each further one takes 64 MiB of address space
    rt->start_ns = clock_ns();
    rt->wants = rt->stage->wants;
    rt->signals = -1;
    rt->patience_ns = (uint64_t)(rt->options.dead_after_s * 1e9);
    enum status s = exchange_open(&rt->exchange, e);
    if (s)
        return s;
    (void)pthread_mutex_init(&rt->turn, NULL);
    rt->exchange.leave = handover;
    rt->exchange.context = rt;
    s = take_descriptors(e);
    rt->context = fused_context();
    rt->fused = rt->context != NULL;
    if (s == STATUS_OK && !rt->fused)
        s = take_signals(rt, e);
    if (s == STATUS_OK)
        s = random_names(rt, e);
    if (!rt->fused)
        rt->context = zmq_ctx_new();
    if (s == STATUS_OK && !rt->context)
        s = error_memory(e, "sockets");
    if (s == STATUS_OK && rt->curve.keyed && !rt->fused)
        s = zap_open(&rt->zap, rt->context, &rt->curve.keys, e);
    if (s == STATUS_OK)
        s = open_endpoints(rt, e);
    if (s)
        return s;
    errno = program_thread(&rt->thread, NULL, io_run, rt);
    rt->started = errno == 0;
    return rt->started ? STATUS_OK : error_errno(e, STATUS_FAILED, "cannot start a thread");
}

struct work runtime_work(struct runtime *rt)
{
    struct work work = meter_read(&rt->meter);
    work.bytes_in = atomic_load(&rt->bytes_in);
    work.bytes_out = atomic_load(&rt->bytes_out);
    work.refused = atomic_load(&rt->refused);
    return work;
}

/* At a good end nobody waits for what is still on its way up, but the first stage for the bye of
 * who took its experiment; on its way down it is of use to those who have not left. */
static bool is_of_use(const struct runtime *rt, const struct link *l)
{
    if (l->lost_ns)
        return false;
    return l->port->up ? rt->wants == KIND_EXPERIMENT && l->gone : !l->gone;
}

/* Libzmq holds on to words for who has left: so long that the others get theirs. */
static void shorten_goodbyes(struct runtime *rt)
{
    for (size_t i = 0; i < rt->nports; i++) {
        const struct port *p = &rt->ports[i];
        const struct link *l = link_of_port(rt, p);
        if (p->socket && (p->bound || l))
            port_set_linger(p->socket, p->bound || is_of_use(rt, l) ? GOODBYE_MS : 0);
    }
    if (rt->control_local && rt->control_socket)
        port_set_linger(rt->control_socket, GOODBYE_MS);
}

void runtime_disconnect(struct runtime *rt)
{
    if (rt->complete)
        shorten_goodbyes(rt);
    for (size_t i = 0; i < rt->nports; i++) {
        port_close(&rt->ports[i].socket, &rt->ports[i].watch);
        if (rt->ports[i].bound)
            endpoint_remove(rt->ports[i].endpoint);
    }
    port_close(&rt->control_socket, &rt->control_watch);
    if (rt->control_local)
        endpoint_remove(rt->control);
    message_free(&rt->experiment);
    if (rt->context && !rt->fused)
        (void)zmq_ctx_term(rt->context);
    zap_close(&rt->zap);
    folder_close(&rt->folder);
}

void runtime_close(struct runtime *rt)
{
    exchange_main_done(&rt->exchange);
    if (rt->started)
        (void)pthread_join(rt->thread, NULL);
    else
        runtime_disconnect(rt);
    while (rt->links) {
        struct link *next = rt->links->next;
        link_free(rt->links);
        rt->links = next;
    }
    source_close(rt);
    seen_clear(&rt->seen);
    order_close(&rt->order);
    id_set_clear(&rt->have);
    id_set_clear(&rt->acks);
    id_set_clear(&rt->kept);
    id_set_clear(&rt->kept_due);
    mem_free(rt->buried);
    mem_free(rt->held);
    exchange_close(&rt->exchange);
    curve_close(&rt->curve);
    (void)pthread_mutex_destroy(&rt->turn);
    (void)close(rt->signals);
}
