/* Runs the programs of stages, found on PATH, in a shell pipe, and reads the times that they
 * report. */
#include "chain.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static double field(const char *line, const char *name)
{
    char key[32];
    (void)snprintf(key, sizeof key, "\"%s\":", name);
    const char *found = strstr(line, key);
    return found ? strtod(found + strlen(key), NULL) : 0.0;
}

/* The lines of the file `stats` in a folder; returns how many. */
static size_t read_costs(const char *folder, struct cost costs[STAGES_MAX])
{
    char path[160], line[1024];
    (void)snprintf(path, sizeof path, "%s/stats", folder);
    FILE *in = fopen(path, "r");
    size_t n = 0;
    while (in && n < STAGES_MAX && fgets(line, sizeof line, in)) {
        struct cost *c = &costs[n++];
        const char *name = strstr(line, "\"stage\":\"");
        (void)snprintf(c->stage, sizeof c->stage, "%.*s", name ? (int)strcspn(name + 9, "\"") : 0,
                       name ? name + 9 : "");
        c->cpu_s = field(line, "cpu_s");
        c->compute_cpu_s = field(line, "compute_cpu_s");
        c->busiest_cpu_s = field(line, "busiest_cpu_s");
        c->wall_s = field(line, "wall_s");
        c->compute_s = field(line, "compute_s");
        c->codec_s = field(line, "codec_s");
        c->wait_in_s = field(line, "wait_in_s");
        c->wait_out_s = field(line, "wait_out_s");
        c->frames = field(line, "frames");
        c->setups = field(line, "setups");
        c->bytes_out = field(line, "bytes_out");
        c->evaluations = field(line, "evaluations");
        c->found = field(line, "found");
        c->rms = field(line, "rms");
        name = strstr(line, "\"why\":\"");
        (void)snprintf(c->why, sizeof c->why, "%.*s", name ? (int)strcspn(name + 7, "\"") : 0,
                       name ? name + 7 : "");
    }
    if (in)
        (void)fclose(in);
    return n;
}

void chain_stage(const struct bench *b, char *command, const char *name, const char *options)
{
    const size_t length = strlen(command);
    char trace[64] = "";
    if (b->o.profile)
        (void)snprintf(trace, sizeof trace, " --trace=%s.json", name);
    (void)snprintf(command + length, COMMAND_MAX - length, "%s%s --quiet --stats=stats%s %s",
                   length ? " | " : "", name, trace, options);
}

void chain_recipes(const struct bench *b, char *command, int64_t edge, int64_t frames,
                   const char *more)
{
    char options[256];
    command[0] = '\0';
    (void)snprintf(options, sizeof options,
                   "--cell=70,80,90,90,90,90 --default-F=100 --ncells=5 --wavelength=1 "
                   "--distance=100 --oversample=1 --detpixels=%" PRId64 " --pixel=%.10g",
                   edge, 102.4 / (double)edge);
    chain_stage(b, command, "bragg-geometry", options);
    (void)snprintf(options, sizeof options, "--frames=%" PRId64 " --random --seed=7 %s", frames,
                   more);
    chain_stage(b, command, "bragg-orient", options);
}

void chain_still(const struct bench *b, char *command, int64_t edge, int64_t frames,
                 const char *more)
{
    chain_recipes(b, command, edge, frames, more);
    chain_stage(b, command, "bragg-intensity", "--threads=1");
}

void chain_rest(const struct bench *b, char *command, const char *water_um, const char *suffix,
                const char *more)
{
    char options[96];
    (void)snprintf(options, sizeof options, "--threads=1 --water=%s %s", water_um, more);
    chain_stage(b, command, "bragg-background", options);
    (void)snprintf(options, sizeof options, "--threads=1 %s", more);
    chain_stage(b, command, "bragg-noise", options);
    (void)snprintf(options, sizeof options, "frame_%%04d.%s %s", suffix, more);
    chain_stage(b, command, "bragg-write", options);
}

enum status chain_run(const struct bench *b, const char *name, const char *command, struct run *r,
                      struct error *e)
{
    char folder[128];
    const char *const argv[] = {"sh", "-c", command, NULL};
    enum status s = folder_make(b, name, folder, sizeof folder, e);
    if (!s)
        s = process_run(argv, folder, b->o.threads, &r->cpu_ns, &r->wall_ns, e);
    if (!s)
        r->ncosts = read_costs(folder, r->costs);
    if (!b->o.keep_artifacts && !b->o.profile)
        folder_remove(folder);
    return s;
}

int chain_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (const struct sockaddr *)&at, sizeof at) == 0)
        (void)getsockname(fd, (struct sockaddr *)&at, &size);
    (void)close(fd);
    return ntohs(at.sin_port);
}

const struct cost *chain_find(const struct run *r, const char *stage)
{
    static const struct cost none;
    for (size_t i = 0; i < r->ncosts; i++)
        if (strcmp(r->costs[i].stage, stage) == 0)
            return &r->costs[i];
    return &none;
}
