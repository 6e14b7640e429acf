/*
 * bragg-eiger: a virtual Dectris detector, which clients configure over HTTP and whose images come
 * from a pipeline that bragg-run runs for each series.  One thread serves requests, receives images
 * from the pipeline and sends those that are due.
 */
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/opt.h"
#include "base/program.h"
#include "eiger.h"
#include "web/access.h"

#define AT(member) offsetof(struct eiger_options, member)

static const struct opt options[] = {
    {.doc = "Detector:", .type = OPT_GROUP},
    {"detector", EIGER_MODELS, "Model of the detector", OPT_CHOICE, AT(detector),
     .choices = EIGER_MODELS},
    {"energy", "EV", "Photon energy at the start, in eV", OPT_REAL, AT(energy_eV), .min = 3500,
     .max = 40000, .usual = "12400"},
    {"distance", "MM", "Distance of the detector at the start, in mm", OPT_REAL, AT(distance_mm),
     .min = 0.001, .max = 1e9, .usual = "150"},
    {"flux", "PH/S", "Photons per second at the start, and if a client sets total_flux to 0",
     OPT_REAL, AT(flux_hz), .min = 1, .max = 1e20, .usual = "2e11"},
    {"pipeline", "FILE",
     "Pipeline file with the stages geometry, orient, noise and serve, or the name of a pipeline "
     "that ships",
     OPT_TEXT, AT(pipeline), .usual = "eiger"},
    {"initialized", NULL, "Start in the state idle instead of na", OPT_FLAG,
     .offset = AT(initialized)},
    {"stream", "enabled|disabled", "Value of the key stream/config/mode at the start", OPT_CHOICE,
     AT(stream), .choices = "enabled|disabled"},
    {.doc = "Network:", .type = OPT_GROUP},
    {"bind", "ADDRESS:PORT", "Address for requests over HTTP; port 0: any free port", OPT_TEXT,
     AT(bind), .usual = "127.0.0.1:8081"},
    {"legacy-port", "PORT", "Port of Stream V1, which is the format legacy", OPT_INT,
     AT(ports[OUTLET_V1]), .min = 1, .max = 65535, .usual = "9999"},
    {"cbor-port", "PORT", "Port of Stream V2, which is the format cbor", OPT_INT,
     AT(ports[OUTLET_V2]), .min = 1, .max = 65535, .usual = "31001"},
    {"host", "NAME", "A further name of this host that requests may contain in their address",
     OPT_TEXT, .offset = AT(host)},
    {"insecure", NULL, "Allow an address that other hosts can reach", OPT_FLAG,
     .offset = AT(insecure)},
    {.name = NULL},
};

static const struct opt_program program = {
    .name = "bragg-eiger",
    .summary = "Simulate a Dectris detector that clients control over HTTP.",
    .examples = "bragg-eiger --detector=eiger2-500k --initialized\n"
                "bragg-eiger --detector=eiger2-4m --pipeline=mine.yaml --bind=127.0.0.1:80",
};

enum { DESCRIPTORS_MIN = HTTP_CONNECTIONS_MAX + 256 };

static volatile sig_atomic_t stopped;

static void stop(int number)
{
    stopped = number;
}

static void catch_signals(void)
{
    const struct sigaction action = {.sa_handler = stop};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

/* Makes the folder of the series.  Only its owner may enter it. */
static enum status make_folder(struct eiger *v, struct error *e)
{
    const char *where = getenv("TMPDIR");
    (void)snprintf(v->folder, sizeof v->folder, "%.4000s/bragg-eiger.XXXXXX",
                   where && *where ? where : "/tmp");
    if (mkdtemp(v->folder))
        return STATUS_OK;
    const enum status s =
        error_errno(e, STATUS_FAILED, "%.400s: cannot make the folder", v->folder);
    v->folder[0] = '\0';
    return s;
}

/* Returns how many images a client that stalls may have in memory: 4 GiB of them, 500 at most. */
static int queue_of(const struct eiger_model *model)
{
    const double images = 4294967296.0 / (4.0 * (double)(model->fast * model->slow));
    return images < 500 ? (int)images : 500;
}

static enum status open_all(struct eiger *v, struct error *e)
{
    char address[16];
    int port;
    bool loopback;
    enum status s = web_bind_parse("bind", v->options.bind, address, &port, &loopback, e);
    if (s == STATUS_OK && !loopback && !v->options.insecure)
        s = error_set(e, STATUS_USAGE,
                      "--bind=%s needs --insecure, because other hosts can reach this address and "
                      "the protocols have no passwords",
                      v->options.bind);
    v->keys.model = eiger_model(v->options.detector);
    mask_open(&v->masks[0], v->keys.model);
    if (v->keys.model->middle)
        mask_open(&v->masks[1], v->keys.model->middle);
    v->monitor = monitor_open();
    s = s ? s : program_take_descriptors(DESCRIPTORS_MIN, e);
    s = s ? s : make_folder(v, e);
    s = s ? s : files_open(&v->files, v->folder, e);
    s = s ? s : http_open(&v->http, address, port, v->options.host, eiger_answer, v, e);
    s = s ? s : outlet_open(&v->outlet, address, v->options.ports, queue_of(v->keys.model), e);
    if (s)
        return s;
    http_allow_large(v->http, "/pixel_mask", mask_body_max(&v->masks[0]));
    if (v->options.initialized)
        eiger_initialize(v);
    else
        eiger_restart(v);
    if (printf("http://%s:%d\n", address, http_port(v->http)) < 0 || fflush(stdout) != 0)
        return error_errno(e, STATUS_FAILED, "cannot write the address to stdout");
    return STATUS_OK;
}

/* Serves until a signal ends the program. */
static void serve(struct eiger *v)
{
    static struct pollfd files[HTTP_CONNECTIONS_MAX + 2];
    while (!stopped) {
        const int wait_ms = eiger_turn(v);
        const size_t count = http_files(v->http, files);
        files[count] = (struct pollfd){.fd = outlet_file(v->outlet), .events = POLLIN};
        if (poll(files, count + 1, wait_ms) >= 0)
            http_turn(v->http, files, count);
    }
}

int main(int argc, char **argv)
{
    static struct eiger v;
    struct error e = {0};
    int n = 0;
    program_open(program.name);
    enum status s = opt_parse(&program, options, &v.options, NULL, NULL, argc, argv, NULL, &n, &e);
    catch_signals();
    s = s ? s : open_all(&v, &e);
    if (s == STATUS_OK)
        serve(&v);
    else if (e.text[0])
        (void)log_fail(&e);
    eiger_close(&v);
    return (int)s;
}
