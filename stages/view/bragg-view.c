/*
 * bragg-view: a sink that serves a page, which shows the stream in a browser.  The stream never
 * waits for a browser.
 *
 * The runtime passes each frame to view_frame, which keeps a copy at most as often as the pages
 * need one; a server (web/server.h) sends it to the browsers.  Operands are files, which
 * bragg-replay plays into the standard input.  From top to bottom: files, marks for reflections,
 * and the stage.  view_story.h makes the facts that go to the pages as JSON.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/filetype.h"
#include "base/log.h"
#include "base/program.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "model/recipe.h"
#include "run/pipeline/find_program.h"
#include "stage/stage.h"
#include "stages/shared/frame_facts.h"
#include "stages/shared/preview.h"
#include "view_pipeline.h"
#include "view_story.h"
#include "web/server.h"
#include "web/store.h"
#include "wire/control.h"

/* --- files, played by bragg-replay ------------------------------------------ */

/* Returns the command line of bragg-replay for `count` files, ended by NULL.  `geometry`: a word
 * for bragg-replay, or NULL.  The caller frees the array with mem_free, but not its words. */
static char **make_words(char *program, char *geometry, const char *const *paths, int count)
{
    char **words = mem_array((size_t)count + 5, sizeof *words);
    int n = 0;
    words[n++] = program;
    words[n++] = (char *)(uintptr_t) "--quiet";
    if (geometry)
        words[n++] = geometry;
    words[n++] = (char *)(uintptr_t) "--";
    for (int i = 0; i < count; i++)
        words[n++] = (char *)(uintptr_t)paths[i];
    return words;
}

/* Starts a program with `out` as its standard output, and sets *player to its process id.  Its
 * messages begin with the name of this program, which the user called.  Returns 0, or an error
 * number as in errno. */
static int start_player(char **words, int out, pid_t *player)
{
    posix_spawn_file_actions_t files;
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&files, out, 1);
    (void)setenv(LOG_NAME, log_program(), 1);
    const int code = posix_spawnp(player, words[0], &files, NULL, words, environ);
    (void)unsetenv(LOG_NAME);
    (void)posix_spawn_file_actions_destroy(&files);
    return code;
}

/* Starts bragg-replay for `count` files, whose geometry is in the file `geometry` unless this is
 * NULL, and makes its output the standard input of this process.  Sets *player to the process id.
 * The caller ends bragg-replay with view_files_end. STATUS_FAILED: bragg-replay cannot be started.
 */
static enum status view_files_play(const char *geometry, const char *const *paths, int count,
                                   pid_t *player, struct error *e)
{
    int ends[2];
    char *program = program_find("bragg-replay");
    if (!program)
        return error_set(e, STATUS_FAILED, "program 'bragg-replay', which reads files, not found");
    char *word = geometry ? mem_text("--geometry-from=%s", geometry) : NULL;
    char **words = make_words(program, word, paths, count);
    enum status s = STATUS_OK;
    if (pipe2(ends, O_CLOEXEC))
        s = error_errno(e, STATUS_FAILED, "cannot make a pipe");
    if (!s) {
        errno = start_player(words, ends[1], player);
        if (errno || dup2(ends[0], 0) < 0)
            s = error_errno(e, STATUS_FAILED, "cannot start %s", program);
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
    mem_free(words);
    mem_free(word);
    mem_free(program);
    return s;
}

/* Ends bragg-replay if it still runs, and waits for its end.  `player` 0: no process was
 * started; does nothing. */
static void view_files_end(pid_t player)
{
    if (player <= 0)
        return;
    (void)kill(player, SIGTERM);
    while (waitpid(player, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* --- marks for the reflections of a frame ----------------------------------- */

enum { VIEW_MARKS_MAX = 50000 };  // more marks would hide the picture

/* Makes the marks of the reflections of a frame, in pixels of the panel `shown`.  The marks are
 * the true reflections whose z is above least_z (0: all) if the frame contains them, otherwise the
 * predicted ones.  The caller frees *marks with mem_free. */
static void view_marks(const struct experiment *x, const struct panel *shown, const struct frame *f,
                       double least_z, struct web_mark **marks, size_t *count)
{
    struct preview_spot *spots;
    *marks = NULL;
    preview_spots(x, shown, f, least_z, VIEW_MARKS_MAX, &spots, count);
    if (*count)
        *marks = mem_array(*count, sizeof **marks);
    for (size_t i = 0; i < *count; i++) {
        const struct preview_spot *p = &spots[i];
        (*marks)[i] = (struct web_mark){(float)p->fast,
                                        (float)p->slow,
                                        (float)p->photons,
                                        p->lattice,
                                        {p->hkl[0], p->hkl[1], p->hkl[2]}};
    }
    mem_free(spots);
}

enum { GROUP_TEXT = 48, PLANE_EDGE = 4096, REST = 3 };
static const uint64_t UNSEEN_NS = 1000000000;
static const double HISTORY_S = 0.5;  // least time between two points of the history

/* State of bragg-view; the options come first. */
struct view {
    /* options */
    const char *bind, *token, *host, *title, *ring_list, *geometry;
    struct opt_marks given;
    double linger_s;
    int64_t memory_MiB;
    /* state */
    char group[GROUP_TEXT], address[WEB_ADDRESS_SIZE], secret[WEB_TOKEN_SIZE];
    bool piped, hold;
    struct web *web;
    char control[ENDPOINT_SIZE];  // endpoint at which the source reports its state
    struct view_pipeline *pipeline;
    const struct experiment *experiment;
    struct preview preview;      // all panels in one picture
    uint64_t start_ns, next_ns;  // a passive sink skips frames that come before next_ns
    uint64_t frames, hits;
    uint64_t expected;  // number of frames that the source issues; 0: not known
    struct view_history history;
    atomic_bool interrupted;
    pid_t player;  // process id of bragg-replay, which plays files; 0: no files
    struct view_names names;
    struct rings rings;  // resolution rings that the user chose
    double least_z;      // value of --visible
};

enum { FILES_MAX = 100000 };

#define AT(member) .offset = offsetof(struct view, member)

static const struct opt options[] = {
    {.doc = "Page:", .type = OPT_GROUP},
    {"bind", "ADDRESS:PORT", "Address of the page; port 0: any free one", OPT_TEXT, AT(bind),
     .usual = "127.0.0.1:8080"},
    {"token", "FILE", "Require the token in FILE; without FILE: make a token and print it",
     OPT_TEXT, AT(token), .flags = OPT_BARE},
    {"host", "NAME", "One more name of this host that addresses of the page may have", OPT_TEXT,
     AT(host)},
    {"title", "TEXT", "Title of the page. Default: the names of the files, or of the crystal",
     OPT_TEXT, AT(title)},
    {"rings", "A,...", "Resolution rings of the page, 1 to 16 d spacings (round values)", OPT_TEXT,
     AT(ring_list)},
    {"visible", "Z",
     "Mark only true reflections whose photons exceed Z times the noise of their sum", OPT_REAL,
     AT(least_z), .min = 0, .max = 1e6, .flags = OPT_OPEN_MIN | OPT_BARE, .usual = "5"},
    {.doc = "Frames:", .type = OPT_GROUP},
    {"geometry-from", "FILE",
     "Files: detector and beam of images in TIFF, EDF or CXI, see bragg-replay (their header)",
     OPT_TEXT, AT(geometry)},
    {"memory", "MIB", "Memory for the last frames (at most 100) and for answers to browsers",
     OPT_INT, AT(memory_MiB), .min = 1, .max = 1 << 20, .usual = "512"},
    {"hold", NULL, "Make the run wait for this program, so that it sees every frame", OPT_FLAG,
     AT(hold)},
    {"linger", "S",
     "Serve the page for this time after the stream ends (at the end of a pipe: until Ctrl-C, else "
     "0)",
     OPT_REAL, AT(linger_s), .min = 0, .max = 1e6, .usual = ""},
    OPT_END(struct view, given),
};

/* --- the page -------------------------------------------------------------- */

static enum status take_token(struct view *v, struct error *e)
{
    if (!opt_given(options, v, "token"))
        return STATUS_OK;
    return v->token && v->token[0] ? web_token_read(v->token, v->secret, e)
                                   : web_token_make(v->secret, e);
}

/* Prints the address of the page.  If files are shown, this is called only after the first image
 * was read, so that no address is printed for a file that cannot be read. */
static enum status print_address(const struct view *v, struct error *e)
{
    if (printf("%s\n", v->address) < 0 || fflush(stdout) != 0)
        return error_errno(e, STATUS_FAILED, "cannot write the address to stdout");
    return STATUS_OK;
}

/* Returns true if each file holds a single image. bragg-replay then gives frame i the image of
 * file i. */
static bool are_single(const char *const *paths, int count)
{
    bool single = true;
    for (int i = 0; i < count && single; i++) {
        FILE *in = fopen(paths[i], "rbe");
        const enum filetype type = in ? filetype_of_file(in) : FILETYPE_OTHER;
        single = type == FILETYPE_CBF || type == FILETYPE_SMV || type == FILETYPE_TIFF ||
                 type == FILETYPE_EDF || type == FILETYPE_CBOR;
        if (in)
            (void)fclose(in);
    }
    return single;
}

static enum status view_open(void *state, const char **operands, int noperands, struct error *e)
{
    struct view *v = state;
    char address[16];
    int port;
    bool loopback;
    enum status s = web_bind_parse("bind", v->bind, address, &port, &loopback, e);
    if (s == STATUS_OK && !loopback && !opt_given(options, v, "token"))
        s = error_set(e, STATUS_USAGE,
                      "--bind=%s needs --token, because other hosts can reach this address",
                      v->bind);
    if (s == STATUS_OK)
        s = rings_parse(v->ring_list, &v->rings, e);
    if (s == STATUS_OK)
        s = take_token(v, e);
    if (s)
        return s;
    const struct web_settings settings = {.bind = v->bind,
                                          .host = v->host,
                                          .token =
                                              opt_given(options, v, "token") ? v->secret : NULL,
                                          .store_bytes = (size_t)v->memory_MiB << 20};
    if (noperands)
        s = view_files_play(v->geometry, operands, noperands, &v->player, e);
    else if (v->geometry)
        s = error_set(e, STATUS_USAGE,
                      "--geometry-from has an effect only with files. Give it to bragg-replay in a "
                      "pipe");
    v->names = (struct view_names){.title = v->title,
                                   .paths = operands,
                                   .count = noperands,
                                   .one_each = noperands > 1 && are_single(operands, noperands)};
    v->history.gap_s = HISTORY_S;
    s = s ? s : web_open(&v->web, &settings, v->address, e);
    v->start_ns = clock_ns();
    return s || noperands ? s : print_address(v, e);
}

static enum status view_settle(void *state, const struct start *start, struct stage *self,
                               struct error *e)
{
    struct view *v = state;
    if (v->player && !start->piped)
        return error_set(e, STATUS_USAGE,
                         "FILE and --in cannot be used together; remove one of them");
    v->piped = start->piped;
    self->role.transient = !start->piped && !v->hold;
    if (v->hold)
        return STATUS_OK;
    (void)snprintf(v->group, sizeof v->group, "%s/watcher %ld", self->role.name, (long)getpid());
    self->role.group = v->group;
    return STATUS_OK;
}

/* --- the stream ------------------------------------------------------------ */

static void view_meet(void *state, const char *control, uint64_t run)
{
    (void)run;
    struct view *v = state;
    (void)snprintf(v->control, sizeof v->control, "%s", control);
}

static enum status view_begin(void *state, struct experiment *x, struct error *e)
{
    struct view *v = state;
    v->experiment = x;
    enum status s = preview_open(&v->preview, x, PLANE_EDGE, e);
    if (s)
        return s;
    rings_warn(&v->rings, x, preview_panel(&v->preview));
    char *story = view_story(x, &v->preview, &v->names, &v->rings);
    if (!story)
        return error_memory(e, "a text for the pages");
    web_begin(v->web, preview_panel(&v->preview), story);
    free(story);
    return view_pipeline_open(&v->pipeline, v->web, v->control, e);
}

/* Copies a frame, with its marks and facts, into the store from which the pages are served. */
static enum status keep_frame(struct view *v, struct frame *f, struct error *e)
{
    const struct image *image;
    reflection_table_rate(&f->reflections, v->experiment);
    enum status s = preview_image(&v->preview, &f->image, &image, e);
    if (s)
        return s;
    struct web_store *store = web_frames(v->web);
    struct web_frame *kept = web_store_new(store, image->type, image->unit, image->count);
    if (!kept)
        return error_memory(e, "a frame");
    memcpy(kept->image.pixels, image->pixels, image->count * pixel_size(image->type));
    kept->id = f->recipe.id;
    kept->time_s = (double)(clock_ns() - v->start_ns) / 1e9;
    kept->wavelength_A = incident_beam(v->experiment, &f->recipe).mean_m * 1e10;
    kept->lattices = f->recipe.nlattices;
    kept->came = v->frames;
    kept->hits = v->hits;
    kept->brightness = frame_mean(&kept->image);
    view_history_add(&v->history,
                     (struct view_point){kept->time_s, v->frames, v->hits, kept->brightness});
    view_marks(v->experiment, preview_panel(&v->preview), f,
               opt_given(options, v, "visible") ? v->least_z : 0.0, &kept->marks, &kept->nmarks);
    if (!image_is_intact(&f->image)) {
        web_store_drop(store, kept);
        return s;
    }
    web_store_put(store, kept);
    web_news(v->web);
    return STATUS_OK;
}

static void view_expect(void *state, uint64_t frames)
{
    struct view *v = state;
    v->expected = frames;
}

/* Returns true if no frame follows.  If bragg-view joined late, it has counted fewer frames than
 * the source issues; in this case the last frame is the one with the last number. */
static bool is_last(const struct view *v, const struct frame *f)
{
    return v->expected && (v->frames == v->expected || f->recipe.id == v->expected - 1);
}

/* Keeps a frame for the pages.  If bragg-view is passive, it skips frames, so that it uses at
 * most a quarter of the time, and almost no time while no page is visible to a user.  The last
 * frame is always kept. */
static enum status view_frame(void *state, struct frame *f, struct error *e)
{
    struct view *v = state;
    const uint64_t begun_ns = clock_ns();
    v->frames++;
    v->hits += f->recipe.nlattices > 0;
    if (v->player && v->frames == 1 && print_address(v, e))
        return e->status;
    if (!v->piped && !v->hold && begun_ns < v->next_ns && !is_last(v, f))
        return STATUS_OK;
    const enum status s = keep_frame(v, f, e);
    const uint64_t ended_ns = clock_ns();
    v->next_ns =
        web_is_watched(v->web) ? ended_ns + REST * (ended_ns - begun_ns) : ended_ns + UNSEEN_NS;
    return s;
}

/* --- the end --------------------------------------------------------------- */

static void view_interrupt(void *state)
{
    struct view *v = state;
    atomic_store(&v->interrupted, true);
}

/* Waits until the time of --linger is over, or until a signal arrives that ends a program.  The
 * runtime has blocked these signals, and does not read them any more. */
static void wait_for_pages(const struct view *v)
{
    sigset_t ends;
    const struct timespec time = {.tv_sec = (time_t)v->linger_s,
                                  .tv_nsec = (long)(fmod(v->linger_s, 1.0) * 1e9)};
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGINT);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGHUP);
    const bool forever = v->piped && isnan(v->linger_s);
    if (forever || v->linger_s > 0)
        log_line(LOG_TELL, "the stream has ended. The page stays at %s until Ctrl-C", v->address);
    while (sigtimedwait(&ends, NULL, forever ? NULL : &time) < 0 && errno == EINTR)
        ;
}

static enum status tell_end(struct view *v, const char *how, struct error *e)
{
    char *text = view_epilogue(how, v->frames, &v->history);
    if (!text)
        return error_memory(e, "a text for the pages");
    web_end(v->web, text);
    free(text);
    return STATUS_OK;
}

static enum status view_end(void *state, struct error *e)
{
    struct view *v = state;
    view_pipeline_close(v->pipeline);
    v->pipeline = NULL;
    enum status s = v->player && !v->frames ? print_address(v, e) : STATUS_OK;
    s = s ? s : tell_end(v, "The stream has ended.", e);
    if (s == STATUS_OK && !atomic_load(&v->interrupted))
        wait_for_pages(v);
    return s;
}

static void view_close(void *state)
{
    struct view *v = state;
    struct error ignored = {0};
    view_pipeline_close(v->pipeline);
    if (v->web)
        (void)tell_end(v, "The stream was aborted.", &ignored);
    web_close(v->web);
    view_files_end(v->player);
    preview_free(&v->preview);
    explicit_bzero(v->secret, sizeof v->secret);
}

static const struct stage stage = {
    .role = {.name = "bragg-view", .wants = KIND_IMAGE, .gives = KIND_NONE},
    .summary = "Show the stream in a browser.",
    .examples = "... | bragg-noise | bragg-view\n"
                "bragg-view --bind=127.0.0.1:8081 lyso_*.cbf",
    .operands = "[FILE...]",
    .max_operands = FILES_MAX,
    .options = options,
    .reads_only = true,
    .speaks = true,
    .state_size = sizeof(struct view),
    .open = view_open,
    .settle = view_settle,
    .meet = view_meet,
    .begin = view_begin,
    .expect = view_expect,
    .frame = view_frame,
    .interrupt = view_interrupt,
    .end = view_end,
    .close = view_close,
};

int main(int argc, char **argv)
{
    return stage_main(&stage, argc, argv);
}
