#include "run/commands.h"

#include <string.h>

#include "base/alloc.h"
#include "base/input.h"
#include "run/program.h"

/* --- lists of words ------------------------------------------------------ */

struct words {
    char **list;
    size_t count, capacity;
    bool failed;  // memory was out
};

/* Takes ownership of `word`. */
static void add(struct words *w, char *word)
{
    /* one more for the NULL, and one for `again` */
    char **list = mem_grow(w->list, w->count, 3, sizeof *list, &w->capacity);
    w->list = list ? list : w->list;
    if (!word || !list || w->failed) {
        w->failed = true;
        mem_free(word);
        return;
    }
    w->list[w->count++] = word;
}

static char *join(const char *a, const char *b, const char *c, const char *d)
{
    const size_t size = strlen(a) + strlen(b) + strlen(c) + strlen(d) + 1;
    char *text = mem_array(size, 1);
    if (text)
        (void)snprintf(text, size, "%s%s%s%s", a, b, c, d);
    return text;
}

static void add_words(struct words *w, const char *text)
{
    while (*(text += strspn(text, " \t"))) {
        const size_t length = strcspn(text, " \t");
        char *word = mem_array(length + 1, 1);
        if (word)
            memcpy(word, text, length);
        add(w, word);
        text += length;
    }
}

/* --- command lines ------------------------------------------------------- */

static void name_process(const struct pipeline_stage *s, int64_t i, char name[PROCESS_NAME_SIZE])
{
    if (s->count > 1)
        (void)snprintf(name, PROCESS_NAME_SIZE, "%s.%d", s->name, (int)i + 1);
    else
        (void)snprintf(name, PROCESS_NAME_SIZE, "%s", s->name);
}

char *command_file(const char *folder, const char *name, const char *kind)
{
    char *base = join(folder, "/", name, ".");
    char *path = base ? join(base, kind, "", "") : NULL;
    mem_free(base);
    return path;
}

static void add_file(struct words *w, const char *option, const char *folder, const char *name)
{
    char *path = command_file(folder, name, option + 2);
    add(w, path ? join(option, "=", path, "") : NULL);
    mem_free(path);
}

static void add_endpoints(struct words *w, const struct pipeline *p, size_t index,
                          const struct command *c, const char *folder)
{
    char before[PROCESS_NAME_SIZE];
    const int input = p->stages[index].input;
    for (int64_t i = 0; input >= 0 && i < p->stages[input].count; i++) {
        name_process(&p->stages[input], i, before);
        add(w, join("--in=ipc://", folder, "/", before));
    }
    if (!c->last)
        add(w, join("--out=@ipc://", folder, "/", c->name));
}

/* With several last stages each gets all frames, and the source waits for all of them. */
static void add_groups(struct words *w, const struct pipeline *p, const struct command *c)
{
    char names[PIPELINE_GROUPS_SIZE];
    const int groups = pipeline_groups(p, names);
    if (groups > 1 && c->source && !pipeline_has(c->stage, "groups"))
        add(w, join("--groups=", names, "", ""));
    if (groups > 1 && c->last && !pipeline_has(c->stage, "group"))
        add(w, join("--group=", c->stage->name, "", ""));
}

/* A debugger stops a process, valgrind slows it down many times: that is no death. */
static void add_patience(struct words *w, const struct command *c)
{
    static const char *const options[] = {"start-timeout", "dead-after", "hang", "rejoin-timeout"};
    const size_t count = c->source ? sizeof options / sizeof *options : 1;
    for (size_t i = 0; i < count; i++)
        if (!pipeline_has(c->stage, options[i]))
            add(w, join("--", options[i], "=86400", ""));
}

/* The command that wraps a stage; its program must be there. */
static enum status add_wrap(struct words *w, const struct wrap *wrap, struct error *e)
{
    const size_t first = w->count;
    add_words(w, wrap->command);
    if (w->failed || w->count == first)
        return w->failed ? error_memory(e, "the command lines")
                         : error_set(e, STATUS_USAGE, "--wrap: no command for stage '%s'",
                                     wrap->stage->name);
    char *program = program_find(w->list[first]);
    if (!program)
        return error_set(e, STATUS_USAGE,
                         "--wrap: there is no program '%.200s' beside bragg-run or in PATH",
                         w->list[first]);
    mem_free(w->list[first]);
    w->list[first] = program;
    return STATUS_OK;
}

static enum status add_wraps(struct words *w, struct command *c,
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

/* The options by which stages of a run are connected, watched and told what to keep. */
static void add_ours(struct words *w, const struct pipeline *p, size_t index, struct command *c,
                     const struct command_settings *settings)
{
    add_endpoints(w, p, index, c, settings->folder);
    if (c->source && !pipeline_has(c->stage, "control"))
        add(w, join("--control=ipc://", settings->folder, "/", "control"));
    add_groups(w, p, c);
    if (settings->keys && pipeline_takes_keys(c->stage))
        add(w, join("--keys=", settings->keys, "", ""));
    if (settings->nwraps)
        add_patience(w, c);
    if (c->last && settings->resume)
        add(w, join("--resume", "", "", ""));
    else if (c->last)
        c->again = "--resume";
    if (settings->stats)
        add_file(w, "--stats", settings->folder, c->name);
    if (settings->trace)
        add_file(w, "--trace", settings->folder, c->name);
}

/* A program of others may lie beside the pipeline file. */
static char *find_program(const struct pipeline *p, const struct pipeline_stage *s)
{
    const char *slash = strrchr(p->path, '/');
    if (s->after < 0 || !slash || s->program[0] == '/' || !strchr(s->program, '/'))
        return program_find(s->program);
    char *path = mem_array((size_t)(slash - p->path) + strlen(s->program) + 2, 1);
    if (path)
        (void)sprintf(path, "%.*s/%s", (int)(slash - p->path), p->path, s->program);
    char *program = path ? program_find(path) : NULL;
    mem_free(path);
    return program;
}

static enum status make_one(struct command *c, const struct pipeline *p, size_t index, int64_t i,
                            const struct command_settings *settings, struct error *e)
{
    const struct pipeline_stage *s = &p->stages[index];
    struct words w = {0};
    *c = (struct command){
        .stage = s, .last = pipeline_is_last(p, index), .source = s == pipeline_source(p)};
    c->before = s->input >= 0 ? &p->stages[s->input] : NULL;
    c->after = s->after >= 0 ? &p->stages[s->after] : NULL;
    c->workdir = settings->workdir;
    name_process(s, i, c->name);
    if (s->count > 1)
        (void)snprintf(c->worker, sizeof c->worker, "%d", (int)i);
    const enum status status = add_wraps(&w, c, settings, e);
    c->argv = w.list;
    if (status)
        return status;
    char *program = find_program(p, s);
    if (!program)
        return error_set(e, STATUS_INPUT,
                         "%s:%ld: stage '%s': there is no program '%.200s' beside bragg-run or in "
                         "PATH",
                         p->path, s->line, s->name, s->program);
    add(&w, program);
    for (size_t k = 0; k < s->nargs; k++)
        add(&w, join(s->args[k], "", "", ""));
    if (!c->after)
        add_ours(&w, p, index, c, settings);
    c->argv = w.list;
    return w.failed ? error_memory(e, "the command lines") : STATUS_OK;
}

enum status commands_make(struct commands *c, const struct pipeline *p,
                          const struct command_settings *settings, struct error *e)
{
    size_t total = 0;
    for (size_t i = 0; i < p->nstages; i++)
        total += (size_t)p->stages[i].count;
    *c = (struct commands){
        .list = mem_array(total, sizeof *c->list),
        .makes_keys = settings->keys && strcmp(settings->keys, COMMANDS_KEYS) == 0,
    };
    if (!c->list)
        return error_memory(e, "the command lines");
    enum status s = STATUS_OK;
    for (size_t i = 0; i < p->nstages; i++)
        for (int64_t k = 0; k < p->stages[i].count && s == STATUS_OK; k++)
            s = make_one(&c->list[c->count++], p, i, k, settings, e);
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
    *c = (struct commands){0};
}

/* --- for a shell --------------------------------------------------------- */

/* Quotes a word only where that is needed. */
static void print_word(const char *word, FILE *out)
{
    if (strcmp(word, "--keys=" COMMANDS_KEYS) == 0 || strncmp(word, "--in=ipc://$dir/", 16) == 0 ||
        strncmp(word, "--out=@ipc://$dir/", 18) == 0 ||
        strncmp(word, "--control=ipc://$dir/", 21) == 0) {
        fprintf(out, "\"%s\"", word);
        return;
    }
    if (*word && word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789-_=./,:%+@")] == 0) {
        fputs(word, out);
        return;
    }
    putc('\'', out);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", out);
        else
            putc(*word, out);
    putc('\'', out);
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
