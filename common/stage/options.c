/* The options that the runtime adds to every stage: their table, and what is checked about them. */
#include "stage/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "link/endpoint.h"
#include "link/stage_kind.h"

/* The stages that have an option, to be combined with |: stages without input that are not the
 * source (FIRST), the source, middle stages, sinks (LAST), all stages with input (CONSUMER), and
 * all stages whose output is images. */
enum { FIRST = 1, SOURCE = 2, MIDDLE = 4, LAST = 8, ALL = 15, CONSUMER = 16, IMAGES = 32 };

#define AT(member) .offset = offsetof(struct settings, member)

static const struct {
    unsigned who;
    struct opt option;
} rows[] = {
    {ALL, {.doc = "Common options: messages", .type = OPT_GROUP}},
    {ALL, {"quiet", NULL, "Print only errors", OPT_FLAG, AT(quiet)}},
    {ALL, {"verbose", NULL, "Print more messages", OPT_FLAG, AT(verbose), .excludes = "quiet"}},
    {ALL, {.doc = "Common options: connections", .type = OPT_GROUP}},
    {CONSUMER,
     {"in", "ENDPOINT",
      "Receive from ENDPOINT instead of the pipe; @ENDPOINT binds; may be repeated", OPT_TEXTS,
      AT(in)}},
    {ALL & ~LAST,
     {"out", "ENDPOINT", "Send to ENDPOINT instead of the pipe; @ENDPOINT binds; may be repeated",
      OPT_TEXTS, AT(out)}},
    {SOURCE,
     {"control", "ENDPOINT",
      "Endpoint where the source receives reports of later stages (a private one)", OPT_TEXT,
      AT(control)}},
    {ALL,
     {"keys", "DIR", "Folder with the keys of tcp endpoints, made by bragg-run --make-keys",
      OPT_TEXT, AT(keys), .flags = OPT_INPUT}},
    {ALL,
     {"insecure", NULL, "Allow tcp endpoints without keys, and clients on other hosts", OPT_FLAG,
      AT(insecure)}},
    {MIDDLE | LAST,
     {"transport", "auto|inline",
      "Send images through shared memory if both ends can (auto), or always in the message",
      OPT_CHOICE, AT(transport), .choices = "auto|inline"}},
    {IMAGES,
     {"compress", NULL, "Compress pixels that leave through tcp, with bitshuffle and LZ4", OPT_FLAG,
      AT(compress)}},
    {ALL,
     {"start-timeout", "S", "Seconds to wait until the pipeline is complete", OPT_REAL,
      AT(start_timeout_s), .min = 0.1, .max = 1e6, .usual = "30"}},
    {ALL, {.doc = "Common options: frames", .type = OPT_GROUP}},
    {LAST, {"resume", NULL, "Compute only the frames that do not exist yet", OPT_FLAG, AT(resume)}},
    {MIDDLE | LAST,
     {"order", NULL, "Take frames in the order of their numbers (order of arrival)", OPT_FLAG,
      AT(order)}},
    {MIDDLE | LAST,
     {"group", "NAME", "Consumer group, whose processes divide the frames (program and its output)",
      OPT_TEXT, AT(group)}},
    {SOURCE,
     {"groups", "N|NAME,NAME",
      "Number of sink groups that must acknowledge every frame, or their names (1)", OPT_TEXT,
      AT(groups)}},
    {SOURCE,
     {"window", "N", "Largest number of frames in flight", OPT_INT, AT(window), .min = 1,
      .max = 65536, .usual = "32"}},
    {ALL,
     {"restrict", NULL,
      "Refuse all options but --quiet, --only and options that decide what frames contain",
      OPT_FLAG, AT(restricted)}},
    {ALL, {.doc = "Common options: process failures", .type = OPT_GROUP}},
    {SOURCE,
     {"dead-after", "S", "Presume a process dead after S seconds of silence", OPT_REAL,
      AT(dead_after_s), .min = 0.5, .max = 1e6, .usual = "5"}},
    {SOURCE,
     {"hang", "S", "Presume a process dead that makes no progress on a frame for S seconds",
      OPT_REAL, AT(hang_s), .min = 0.5, .max = 1e9, .usual = "60"}},
    {SOURCE,
     {"rejoin-timeout", "S", "Seconds to wait for a process that replaces a dead one", OPT_REAL,
      AT(rejoin_timeout_s), .min = 0, .max = 1e6, .usual = "10"}},
    {SOURCE,
     {"attempts", "N", "Abandon a frame after N processes died while processing it", OPT_INT,
      AT(attempts), .min = 1, .max = 1e6, .usual = "3"}},
    {MIDDLE | LAST,
     {"source-timeout", "S",
      "Seconds to wait for a dead source to restart (twice the --dead-after of the source)",
      OPT_REAL, AT(source_timeout_s), .min = 0.1, .max = 1e6}},
    {ALL, {.doc = "Common options: measurements", .type = OPT_GROUP}},
    {ALL,
     {"stats", "FILE", "Append the times and counts of this stage as a line of JSON; - is stderr",
      OPT_TEXT, AT(stats)}},
    {ALL, {"trace", "FILE", "Write a trace for chrome://tracing or Perfetto", OPT_TEXT, AT(trace)}},
};

enum { ROWS = sizeof rows / sizeof *rows };

static unsigned who_is(const struct role *r)
{
    const unsigned consumer = r->wants == KIND_NONE ? 0 : CONSUMER;
    const unsigned images = r->gives == KIND_IMAGE ? IMAGES : 0;
    const unsigned place = role_is_source(r) ? SOURCE
                           : role_is_sink(r) ? LAST
                           : consumer        ? MIDDLE
                                             : FIRST;
    return place | consumer | images;
}

const struct opt *options_table(const struct role *role)
{
    static struct opt table[ROWS + 1];
    size_t n = 0;
    for (size_t i = 0; i < ROWS; i++)
        if (!role || rows[i].who & who_is(role))
            table[n++] = rows[i].option;
    table[n] = (struct opt){0};
    return table;
}

void options_defaults(struct settings *o)
{
    (void)opt_defaults(options_table(NULL), o, NULL);
}

static bool is_pipe(int fd)
{
    struct stat what;
    return fstat(fd, &what) == 0 && (S_ISFIFO(what.st_mode) || S_ISSOCK(what.st_mode));
}

enum status options_guard(const struct stage *stage, void *state, struct run *run, struct error *e)
{
    const struct settings *o = &run->settings;
    bool bind, keyed = false;
    char endpoint[ENDPOINT_SIZE];
    const bool tcp = o->insecure || o->keys;
    enum status s = STATUS_OK;
    for (size_t i = 0; i < o->in.count && s == STATUS_OK; i++)
        s = endpoint_parse(o->in.text[i], tcp, &bind, endpoint, e);
    for (size_t i = 0; i < o->out.count && s == STATUS_OK; i++)
        s = endpoint_parse(o->out.text[i], tcp, &bind, endpoint, e);
    if (s == STATUS_OK && o->control)
        s = endpoint_check(o->control + (*o->control == '@'), true, tcp, e);
    const char *own = s == STATUS_OK && stage->binds ? stage->binds(state, &keyed) : NULL;
    if (own)
        s = endpoint_check_clients(own, o->insecure || keyed, e);
    else if (s == STATUS_OK && o->insecure && o->keys)
        s = error_set(e, STATUS_USAGE,
                      "--keys and --insecure cannot be used together; remove one of them");
    return s ? s : curve_open(&run->curve, o->keys, o->insecure, KEYS_STAGE, e);
}

enum status options_check(const struct stage *stage, const struct settings *o, struct error *e)
{
    if (o->group && (!*o->group || strlen(o->group) >= GROUP_SIZE))
        return error_set(e, STATUS_USAGE,
                         "--group: the name is empty or too long; expected 1 to %d characters",
                         GROUP_SIZE - 1);
    if (groups_check(o->groups, e) != STATUS_OK)
        return STATUS_USAGE;
    if (o->order && stage->role.transient)
        return error_set(e, STATUS_USAGE,
                         "--order cannot be used with a passive stage, because the run does not "
                         "wait for a passive stage and does not send it a frame again");
    if (stage->role.in_memory && getenv("BRAGG_WORKER"))
        return error_set(
            e, STATUS_USAGE,
            "this program combines all frames and must run as one process. Set 'count: 1'");
    if (stage->role.wants != KIND_NONE && !o->in.count && !is_pipe(STDIN_FILENO))
        return error_set(e, STATUS_USAGE,
                         "no input: stdin is %s. Run this program in a pipe, as in %s | %s, or "
                         "give the endpoint of the previous stage with --in=ENDPOINT",
                         isatty(STDIN_FILENO) ? "a terminal" : "not a pipe",
                         kind_programs[stage->role.wants].giver, stage->role.name);
    if (stage->role.gives != KIND_NONE && !o->out.count && !is_pipe(STDOUT_FILENO))
        return error_set(e, STATUS_USAGE,
                         "no output: stdout is %s. Run this program in a pipe, as in %s | %s, or "
                         "give an endpoint with --out=ENDPOINT",
                         isatty(STDOUT_FILENO) ? "a terminal" : "not a pipe", stage->role.name,
                         kind_programs[stage->role.gives].taker);
    return STATUS_OK;
}
