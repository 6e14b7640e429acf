/* bragg-top: shows the progress of a running pipeline, by asking its source. */
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/program.h"
#include "control/watch.h"
#include "run/display/view.h"
#include "run/local/source_monitor.h"

/* Values of the options. */
struct options {
    bool once, json, insecure;
    const char *keys;
    double interval_s;
};

#define AT(member) .offset = offsetof(struct options, member)

static const struct opt table[] = {
    {.doc = "Output:", .type = OPT_GROUP},
    {"once", NULL, "Show the state once, with averages since the start of the run", OPT_FLAG,
     AT(once)},
    {"interval", "S", "Seconds between two updates", OPT_REAL, AT(interval_s), .min = 0.1,
     .max = 3600, .usual = "1"},
    {"json", NULL, "Print one JSON object per update, in one line", OPT_FLAG, AT(json)},
    {.doc = "Encryption keys:", .type = OPT_GROUP},
    {"keys", "DIR",
     "Folder with the encryption keys of an observer, for a source at a tcp endpoint", OPT_TEXT,
     AT(keys)},
    {"insecure", NULL, "Allow tcp endpoints without keys", OPT_FLAG, AT(insecure)},
    {0},
};

static const struct opt_program program = {
    .name = "bragg-top",
    .summary = "Show the progress of a running pipeline.",
    .examples = "bragg-top stills\n"
                "bragg-top --json --interval=10 stills >>profile.jsonl",
    .operands = "[ENDPOINT|FOLDER|FILE]",
    .max_operands = 1,
    .details = "ENDPOINT is the control endpoint of the source. FOLDER is the --workdir or the "
               "private folder of a bragg-run, FILE its pipeline file. Without any of these the "
               "only running pipeline is shown. On a terminal q quits.\n\n"
               "More: bragg-top(1) (manual).",
};

static const uint64_t PATIENCE_NS = UINT64_C(5000000000), PATIENCE_NOBODY_NS = UINT64_C(700000000);
static const char hide_cursor[] = "\033[?25l", show_cursor[] = "\033[?25h";

/* State of bragg-top. */
struct top {
    struct options options;
    char endpoint[ENDPOINT_SIZE], name[FIND_NAME_SIZE];  // name: name of the pipeline file
    char keys[PATH_MAX];  // folder with the keys of the run, if it was found
    struct watch watch;
    struct view view;
    struct screen screen;
    bool terminal, listens;   // terminal: the table is redrawn; listens: keys are read
    struct termios keyboard;  // settings to be restored at the end
    int signals;              // signalfd
    uint64_t heard_ns, asked_ns;
};

static enum status take_signals(struct top *t, struct error *e)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t mine;
    (void)sigemptyset(&mine);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        (void)sigaddset(&mine, numbers[i]);
    (void)sigprocmask(SIG_BLOCK, &mine, NULL);
    t->signals = signalfd(-1, &mine, SFD_CLOEXEC | SFD_NONBLOCK);
    return t->signals < 0 ? error_errno(e, STATUS_FAILED, "cannot receive signals") : STATUS_OK;
}

/* Prints or draws the latest status, if there is one.  `ended`: exit status of the run; below 0:
 * the run continues. */
static void show_status(struct top *t, int ended)
{
    char summary[120], heading[FIND_NAME_SIZE + 180];
    if (!view_latest(&t->view))
        return;
    if (t->options.json) {
        view_print_json(&t->view, ended, stdout);
        (void)fflush(stdout);
        return;
    }
    view_summary(&t->view, summary, sizeof summary);
    const int used =
        snprintf(heading, sizeof heading, "%s%s%s", t->name, *t->name ? ": " : "", summary);
    if (ended >= 0)
        (void)snprintf(heading + used, sizeof heading - (size_t)used, "; ended with status %d",
                       ended);
    else if (t->listens)
        (void)snprintf(heading + used, sizeof heading - (size_t)used, "; q quits");
    if (t->terminal) {
        screen_draw(&t->screen, heading, &t->view);
        return;
    }
    printf("%s\n", heading);
    view_print(&t->view, stdout);
    (void)fflush(stdout);
}

/* Processes the messages that have arrived.  Returns true if no more messages are needed,
 * because the run has ended or --once is done. */
static bool take_status(struct top *t)
{
    struct run_status r;
    enum status ended;
    for (;;) {
        switch (watch_receive(&t->watch, &r, &ended)) {
        case WATCH_NOTHING:
            return false;
        case WATCH_END:
            show_status(t, (int)ended);
            return true;
        case WATCH_STATUS:
            t->heard_ns = clock_ns();
            view_take(&t->view, &r, false);
            show_status(t, -1);
            if (t->options.once)
                return true;
        }
    }
}

static enum status silent(const struct top *t, struct error *e)
{
    const char *why = curve_suspicion(&t->watch.curve, &t->watch.port.trial);
    if (why)
        return error_set(e, STATUS_FAILED, "%s: %s", t->endpoint, why);
    return error_set(e, STATUS_FAILED,
                     view_latest(&t->view) ? "the source at %s no longer answers"
                                           : "no pipeline answers at %s",
                     t->endpoint);
}

/* Returns STATUS_FAILED if the source has not answered for too long.  The limit is
 * PATIENCE_NOBODY_NS if no process listens at the endpoint, otherwise PATIENCE_NS and one
 * interval. */
static enum status check_answers(struct top *t, uint64_t interval_ns, uint64_t now_ns,
                                 struct error *e)
{
    const char *why;
    const bool nobody =
        watch_is_refused(&t->watch, &why) || curve_suspicion(&t->watch.curve, &t->watch.port.trial);
    if (why)
        return error_set(e, STATUS_FAILED, "%s: %s", t->endpoint, why);
    const uint64_t patience_ns =
        nobody && !view_latest(&t->view) ? PATIENCE_NOBODY_NS : PATIENCE_NS + interval_ns;
    return t->heard_ns + patience_ns < now_ns ? silent(t, e) : STATUS_OK;
}

/* Prepares to read single keys from the terminal, without Enter and without echo.  Does nothing
 * if this process runs in the background. */
static void take_keyboard(struct top *t)
{
    t->listens = t->terminal && tcgetpgrp(STDIN_FILENO) == getpgrp() &&
                 tcgetattr(STDIN_FILENO, &t->keyboard) == 0;
    if (!t->listens)
        return;
    struct termios keys = t->keyboard;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
}

/* Returns true if this process runs in the foreground.  A background process that reads the
 * terminal would be stopped. */
static bool is_in_front(void)
{
    return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static bool is_quit(struct top *t)
{
    char key = 0;
    struct pollfd keyboard = {.fd = STDIN_FILENO, .events = POLLIN};
    while (t->listens && key != 'q' && is_in_front() && poll(&keyboard, 1, 0) > 0)
        t->listens = read(STDIN_FILENO, &key, 1) == 1;
    return key == 'q';
}

/* Requests and shows the status again and again, until the run ends or the user ends this
 * program. */
static enum status loop(struct top *t, struct error *e)
{
    const uint64_t interval_ns = (uint64_t)(t->options.interval_s * 1e9);
    struct signalfd_siginfo info;
    t->heard_ns = clock_ns();
    for (bool done = false; !done; done = take_status(t) || is_quit(t)) {
        const uint64_t now_ns = clock_ns();
        if (ferror(stdout))
            return error_errno(e, STATUS_FAILED, "cannot write to stdout");
        const enum status s = check_answers(t, interval_ns, now_ns, e);
        if (s)
            return s;
        if (!t->asked_ns || now_ns - t->asked_ns >= interval_ns) {
            t->asked_ns = now_ns;
            watch_ask(&t->watch);
        }
        const uint64_t left_ms = (t->asked_ns + interval_ns - now_ns) / 1000000;
        watch_wait(&t->watch, t->signals, left_ms < 250 ? (int)left_ms + 1 : 250);
        if (read(t->signals, &info, sizeof info) == (ssize_t)sizeof info)
            return info.ssi_signo == SIGINT ? STATUS_INTERRUPTED : STATUS_FAILED;
    }
    return STATUS_OK;
}

static enum status show_run(struct top *t, const char *where, struct error *e)
{
    enum status s = find_run(where, t->endpoint, t->name, e);
    if (s == STATUS_OK)
        s = take_signals(t, e);
    if (s)
        return s;
    if (!t->options.keys && !t->options.insecure && where && find_run_keys(where, t->keys))
        t->options.keys = t->keys;
    s = watch_open(&t->watch, t->endpoint, t->options.keys, t->options.insecure, e);
    t->screen.out = stdout;
    t->terminal = isatty(STDOUT_FILENO) && !t->options.once && !t->options.json;
    take_keyboard(t);
    const bool keyboard = t->listens;
    if (t->terminal)
        fputs(hide_cursor, stdout);
    if (s == STATUS_OK)
        s = loop(t, e);
    screen_end(&t->screen);
    if (keyboard && is_in_front())
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &t->keyboard);
    if (t->terminal)
        fputs(show_cursor, stdout);
    watch_close(&t->watch);
    view_clear(&t->view);
    (void)close(t->signals);
    return s;
}

int main(int argc, char **argv)
{
    static struct top t;
    struct error e = {0};
    const char *where = NULL;
    int n = 0;
    program_open(program.name);
    (void)signal(SIGPIPE, SIG_IGN);
    enum status s = opt_parse(&program, table, &t.options, NULL, NULL, argc, argv, &where, &n, &e);
    if (s == STATUS_OK)
        s = show_run(&t, n ? where : NULL, &e);
    if (s == STATUS_OK && (fflush(stdout) != 0 || ferror(stdout)))
        s = error_errno(&e, STATUS_FAILED, "cannot write to stdout");
    if (s && e.text[0])
        (void)log_fail(&e);
    return (int)s;
}
