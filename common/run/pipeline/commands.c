/* Makes the command lines of all processes of a pipeline. */
#include "run/pipeline/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/files.h"
#include "base/opt.h"
#include "base/text.h"
#include "run/hosts/hosts.h"
#include "run/pipeline/find_program.h"

/* --- a command line that is built word by word --------------------------------- */

struct argv {
    char **list;  // owned, with its words; ended by NULL, with room for one more word
    size_t count, capacity;
};

/* Appends a word from mem_array and takes ownership of it. */
static void argv_add(struct argv *w, char *word)
{
    /* room for the word, for the extra word of a restart, and for the NULL */
    w->list = mem_grow(w->list, w->count, 3, sizeof *w->list, &w->capacity);
    w->list[w->count++] = word;
}

/* Returns the concatenation of four texts; the caller frees it with mem_free. */
static char *argv_join(const char *a, const char *b, const char *c, const char *d)
{
    const size_t size = strlen(a) + strlen(b) + strlen(c) + strlen(d) + 1;
    char *text = mem_array(size, 1);
    (void)snprintf(text, size, "%s%s%s%s", a, b, c, d);
    return text;
}

/* Appends copies of the words of a text, which are separated by blanks. */
static void argv_add_words(struct argv *w, const char *text)
{
    while (*(text += strspn(text, " \t"))) {
        const size_t length = strcspn(text, " \t");
        char *word = mem_array(length + 1, 1);
        memcpy(word, text, length);
        argv_add(w, word);
        text += length;
    }
}

/* Writes the name of process number i of a stage: NAME or NAME.i+1. */
static void process_name(const struct pipeline_stage *s, int64_t i, char name[PROCESS_NAME_SIZE])
{
    if (s->count > 1)
        (void)snprintf(name, PROCESS_NAME_SIZE, "%s.%d", s->name, (int)i + 1);
    else
        (void)snprintf(name, PROCESS_NAME_SIZE, "%s", s->name);
}

static const char INPUT[] = ".in";

/* --- endpoints: which process binds -------------------------------------------- */

/* Returns true if stage number i can get more processes during the run: the stage is directly
 * after the source, and the stage and the stages directly after it are programs of braggpipe. */
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

/* Returns true if stage number i binds its input, and false if it connects to the stage before.
 * A stage after workers binds, so that workers bind nothing.  Between other stages on several
 * hosts, the stage with fewer processes binds, so that few ports are needed.  On one host the
 * stage before binds, unless it has too many processes to be listed in an option. */
static bool binds_in(const struct pipeline *p, size_t i, bool one_host)
{
    const int input = p->stages[i].input;
    if (input < 0 || may_grow(p, input))
        return input >= 0;
    const int64_t before = p->stages[input].count;
    return before > p->stages[i].count && (!one_host || before > OPT_TEXTS_MAX);
}

/* Returns true if stage number i binds its output, because at least one of the stages after it
 * connects to it. */
static bool binds_out(const struct pipeline *p, size_t i, bool one_host)
{
    for (size_t k = 0; k < p->nstages; k++)
        if (p->stages[k].input == (int)i && !binds_in(p, k, one_host))
            return true;
    return false;
}

/* --- endpoints: one host ------------------------------------------------------- */

/* Appends an option with the socket of process number i of a stage, in the private folder.
 * `suffix`: INPUT for the input socket, "" for the output socket. */
static void add_socket(struct argv *w, const char *option, const char *folder,
                       const struct pipeline_stage *s, int64_t i, const char *suffix)
{
    char name[PROCESS_NAME_SIZE + 8];
    process_name(s, i, name);
    (void)strcat(name, suffix);
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

/* --- endpoints: several hosts -------------------------------------------------- */

/* Returns true if the processes of stage number i bind a socket. */
static bool binds_any(const struct pipeline *p, size_t i, bool one_host)
{
    return binds_out(p, i, one_host) || binds_in(p, i, one_host) ||
           &p->stages[i] == pipeline_source(p);
}

size_t process_ports(const struct pipeline *p, size_t i)
{
    return p->stages[i].after >= 0
               ? 0
               : (size_t)binds_out(p, i, false) + (size_t)binds_in(p, i, false) +
                     (&p->stages[i] == pipeline_source(p));
}

/* Returns the place of process number i, from 0, of stage number `index`.  Returns a place
 * without host and ports for a process that was added during the run. */
static const struct place *placement_of(const struct placement *l, size_t index, int64_t i)
{
    static const struct place none = {0};
    return i < l->counts[index] ? &l->list[l->first[index] + (size_t)i] : &none;
}

/* Assigns ports to one process.  *used is the number of assigned ports of its host, and is
 * increased.  STATUS_FAILED: the host has too few free ports. */
static enum status give_ports(struct place *place, const struct pipeline *p, size_t i, size_t *used,
                              struct error *e)
{
    const struct host *host = place->host;
    const size_t wanted = process_ports(p, i);
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
    enum status s = STATUS_OK;
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

/* Appends the options --in, --out and --control of process number i of stage number `index`. */
static void add_endpoints(struct argv *w, const struct pipeline *p, size_t index, int64_t i,
                          const struct command_settings *settings)
{
    if (settings->placement)
        add_ports(w, p, index, i, settings->placement);
    else
        add_sockets(w, p, index, i, settings->folder);
}

/* --- command lines ------------------------------------------------------------- */

char *command_file(const char *folder, const char *name, const char *kind)
{
    char *base = argv_join(folder, "/", name, ".");
    char *path = argv_join(base, kind, "", "");
    mem_free(base);
    return path;
}

static void add_file(struct argv *w, const char *option, const char *folder, const char *name)
{
    char *path = command_file(folder, name, option + 2);
    argv_add(w, argv_join(option, "=", path, ""));
    mem_free(path);
}

/* Appends options for a pipeline with several sinks.  Each sink gets a --group, so that it
 * receives all frames.  The source gets --groups, so that it waits for all sinks. */
static void add_groups(struct argv *w, const struct pipeline *p, const struct command *c)
{
    char names[PIPELINE_GROUPS_SIZE];
    const int groups = pipeline_groups(p, names);
    if (groups > 1 && c->source && !pipeline_has(c->stage, "groups"))
        argv_add(w, argv_join("--groups=", names, "", ""));
    if (groups > 1 && c->last && !pipeline_has(c->stage, "group"))
        argv_add(w, argv_join("--group=", c->stage->name, "", ""));
}

/* Sets all timeouts to one day, for --wrap.  A debugger stops a process and valgrind slows it
 * down, but such a process must not be presumed dead. */
static void add_patience(struct argv *w, const struct command *c)
{
    static const char *const options[] = {"start-timeout", "dead-after", "hang", "rejoin-timeout"};
    const size_t count = c->source ? sizeof options / sizeof *options : 1;
    for (size_t i = 0; i < count; i++)
        if (!pipeline_has(c->stage, options[i]))
            argv_add(w, argv_join("--", options[i], "=86400", ""));
}

/* Appends the command that wraps a stage.  STATUS_USAGE: its program was not found. */
static enum status add_wrap(struct argv *w, const struct wrap *wrap, struct error *e)
{
    const size_t first = w->count;
    argv_add_words(w, wrap->command);
    if (w->count == first)
        return error_set(e, STATUS_USAGE,
                         "--wrap: no command for stage '%s'; expected STAGE=COMMAND",
                         wrap->stage->name);
    char *program = program_find(w->list[first]);
    if (!program)
        return error_set(e, STATUS_USAGE,
                         "--wrap: program '%.200s' not found in the folder of bragg-run or in PATH",
                         w->list[first]);
    mem_free(w->list[first]);
    w->list[first] = program;
    return STATUS_OK;
}

static enum status add_wraps(struct argv *w, struct command *c,
                             const struct command_settings *settings, struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < settings->nwraps && s == STATUS_OK; i++)
        if (settings->wraps[i].stage == c->stage) {
            s = add_wrap(w, &settings->wraps[i], e);
            c->wrapped = true;
        }
    return s;
}

/* Appends the options that connect a process of braggpipe to other processes, and its options
 * for keys, statistics, traces and --resume. */
static void add_ours(struct argv *w, const struct pipeline *p, size_t index, int64_t i,
                     struct command *c, const struct command_settings *settings)
{
    add_endpoints(w, p, index, i, settings);
    add_groups(w, p, c);
    if (settings->keys && pipeline_takes_keys(c->stage))
        argv_add(w, argv_join("--keys=", settings->keys, "", ""));
    if (settings->nwraps)
        add_patience(w, c);
    if (c->last && settings->resume)
        argv_add(w, argv_join("--resume", "", "", ""));
    else if (c->last)
        c->again = "--resume";
    if (settings->stats)
        add_file(w, "--stats", settings->folder, c->name);
    if (settings->trace)
        add_file(w, "--trace", settings->folder, c->name);
}

/* Returns the path of the program of a stage; NULL: not found.  If the name of a client program
 * contains a slash, it is relative to the folder of the pipeline file. */
static char *find_program(const struct pipeline *p, const struct pipeline_stage *s)
{
    const char *slash = strrchr(p->path, '/');
    if (s->after < 0 || !slash || s->program[0] == '/' || !strchr(s->program, '/'))
        return program_find(s->program);
    char *path = mem_array((size_t)(slash - p->path) + strlen(s->program) + 2, 1);
    (void)sprintf(path, "%.*s/%s", (int)(slash - p->path), p->path, s->program);
    char *program = program_find(path);
    mem_free(path);
    return program;
}

/* Returns the absolute path of the folder of a file, which the caller frees with free.  NULL:
 * `path` has no folder, or the folder was not found. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, slash > path ? (size_t)(slash - path) : 1) : NULL;
    char *whole = folder ? realpath(folder, NULL) : NULL;
    free(folder);
    return whole;
}

/* Returns the index of the host on which a process runs; 0 without a launcher. */
static size_t host_of(const struct command *c)
{
    return c->hosts ? hosts_place(c->hosts, c->stage, c->number) : 0;
}

/* Assigns CPUs and GPUs to a process.  They follow the CPUs and GPUs of the earlier processes on
 * the same host. */
static void assign_affinity(const struct commands *all, struct command *c)
{
    c->affinity = (struct affinity){.cpus = c->stage->cpus, .gpus = c->stage->gpus};
    for (const struct command *other = all->list; other < c; other++)
        if (host_of(other) == host_of(c)) {
            c->affinity.first_cpu += other->affinity.cpus;
            c->affinity.first_gpu += other->affinity.gpus;
        }
}

static enum status no_program(const struct pipeline *p, const struct pipeline_stage *s,
                              struct error *e)
{
    char meant[PROGRAM_NAME_SIZE];
    const bool near = program_meant(s->program, meant);
    return error_set(e, STATUS_INPUT,
                     "%s:%ld: stage '%s': program '%.200s' not found in the folder of "
                     "bragg-run or in PATH%s%s%s",
                     p->path, s->line, s->name, s->program, near ? ". Did you mean " : "",
                     near ? meant : "", near ? "?" : "");
}

static enum status make_one(struct command *c, const struct pipeline *p, size_t index, int64_t i,
                            const struct command_settings *settings, struct error *e)
{
    const struct pipeline_stage *s = &p->stages[index];
    struct argv w = {0};
    *c = (struct command){
        .stage = s, .last = pipeline_is_last(p, index), .source = s == pipeline_source(p)};
    c->watches = c->last && pipeline_only_watches(s);
    c->before = s->input >= 0 ? &p->stages[s->input] : NULL;
    c->after = s->after >= 0 ? &p->stages[s->after] : NULL;
    c->workdir = settings->workdir;
    process_name(s, i, c->name);
    c->number = i;
    c->movable = !binds_any(p, index, !settings->placement);
    c->hosts = settings->hosts;
    if (s->count > 1)
        (void)snprintf(c->worker, sizeof c->worker, "%d", (int)i);
    const enum status status = add_wraps(&w, c, settings, e);
    c->argv = w.list;
    if (status)
        return status;
    char *program = find_program(p, s);
    if (!program)
        return no_program(p, s, e);
    argv_add(&w, program);
    for (size_t k = 0; k < s->nargs; k++)
        argv_add(&w, argv_join(s->args[k], "", "", ""));
    if (!c->after)
        add_ours(&w, p, index, i, c, settings);
    c->argv = w.list;
    return STATUS_OK;
}

/* Checks that stage number i or the stage before it has at most OPT_TEXTS_MAX processes.  The
 * options of each process of one stage list the endpoints of all processes of the other, and
 * such a list has at most OPT_TEXTS_MAX entries.  STATUS_INPUT: both stages have more processes. */
static enum status check_neighbours(const struct pipeline *p, size_t i, struct error *e)
{
    const struct pipeline_stage *s = &p->stages[i];
    const struct pipeline_stage *before = s->input >= 0 ? &p->stages[s->input] : s;
    return s->input < 0 || s->count <= OPT_TEXTS_MAX || before->count <= OPT_TEXTS_MAX
               ? STATUS_OK
               : error_set(
                     e, STATUS_INPUT,
                     "%s:%ld: stage '%s' has %lld processes and '%s' before it %lld; expected "
                     "only one of them with more than %d. bragg-intensity --fuse makes one stage "
                     "of both",
                     p->path, s->line, s->name, (long long)s->count, before->name,
                     (long long)before->count, OPT_TEXTS_MAX);
}

enum status commands_make(struct commands *c, const struct pipeline *p,
                          const struct command_settings *settings, struct error *e)
{
    size_t total = 0;
    for (size_t i = 0; i < p->nstages; i++)
        total += (size_t)p->stages[i].count;
    *c = (struct commands){
        .room = total + COMMANDS_MORE_MAX,
        .list = mem_array(total + COMMANDS_MORE_MAX, sizeof *c->list),
        .makes_keys = settings->keys && strcmp(settings->keys, COMMANDS_KEYS) == 0,
        .beside = folder_of(p->path),
    };
    enum status s = STATUS_OK;
    for (size_t i = 0; i < p->nstages && !s; i++)
        s = check_neighbours(p, i, e);
    for (size_t i = 0; i < p->nstages; i++)
        for (int64_t k = 0; k < p->stages[i].count && s == STATUS_OK; k++) {
            struct command *one = &c->list[c->count++];
            s = make_one(one, p, i, k, settings, e);
            one->beside = c->beside;
            assign_affinity(c, one);
        }
    return s;
}

enum status commands_add(struct commands *c, const struct pipeline *p, struct pipeline_stage *stage,
                         const struct command_settings *settings, struct error *e)
{
    struct command *one = &c->list[c->count];
    const int64_t number = stage->count++;
    if (c->count == c->room || number == PIPELINE_COUNT_MAX) {
        stage->count--;
        return error_set(e, STATUS_FAILED, "stage '%s' cannot have more than %d processes",
                         stage->name, (int)number);
    }
    const enum status s = make_one(one, p, (size_t)(stage - p->stages), number, settings, e);
    one->beside = c->beside;
    assign_affinity(c, one);
    c->count++;
    return s;
}

void commands_free(struct commands *c)
{
    for (size_t i = 0; i < c->count; i++) {
        for (char **word = c->list[i].argv; word && *word; word++)
            mem_free(*word);
        mem_free(c->list[i].argv);
    }
    mem_free(c->list);
    free(c->beside);
    *c = (struct commands){0};
}

/* --- for a shell --------------------------------------------------------------- */

/* Prints a word of a command, in quotes if the shell needs them. */
static void print_word(const char *word, FILE *out)
{
    static const char *const sockets[] = {"--in=ipc://$dir/", "--in=@ipc://$dir/",
                                          "--out=ipc://$dir/", "--out=@ipc://$dir/",
                                          "--control=ipc://$dir/"};
    bool in_folder = strcmp(word, "--keys=" COMMANDS_KEYS) == 0;
    for (size_t i = 0; i < sizeof sockets / sizeof *sockets; i++)
        in_folder = in_folder || strncmp(word, sockets[i], strlen(sockets[i])) == 0;
    if (in_folder) {
        fprintf(out, "\"%s\"", word);
        return;
    }
    words_print(word, out);
}

void commands_print(const struct commands *c, FILE *out)
{
    const char *workdir = NULL;
    for (size_t i = 0; i < c->count && !workdir; i++)
        workdir = c->list[i].workdir;
    fputs("dir=$(mktemp -d)\n", out);
    if (c->makes_keys)
        fputs("bragg-run --make-keys=\"" COMMANDS_KEYS "\"\n", out);
    if (workdir) {
        fputs("mkdir -p ", out);
        print_word(workdir, out);
        putc('\n', out);
    }
    for (size_t i = 0; i < c->count; i++) {
        const struct command *one = &c->list[i];
        if (one->after)
            fprintf(out, "# after %s: ", one->after->name);
        if (one->workdir) {
            fputs("(cd ", out);
            print_word(one->workdir, out);
            fputs(" && " INPUT_FROM "=\"$OLDPWD\" ", out);
        }
        if (one->beside) {
            fputs(INPUT_BESIDE "=", out);
            print_word(one->beside, out);
            putc(' ', out);
        }
        if (one->worker[0])
            fprintf(out, "BRAGG_WORKER=%s ", one->worker);
        if (one->workdir)
            fputs("exec ", out);
        for (char **word = one->argv; *word; word++) {
            print_word(*word, out);
            putc(word[1] ? ' ' : one->workdir ? ')' : ' ', out);
        }
        fprintf(out, "%s&%s\n", one->workdir ? " " : "", one->source ? " source=$!" : "");
    }
    fputs("wait $source && status=0 || status=$?\nwait\nrm -r \"$dir\"\n(exit $status)\n", out);
}
