/*
 * A run of many processes in one thread, under a clock that jumps: what is simulated, and what its
 * parts know of each other.  The code of link, control and stage/turn.c is that of the real
 * programs; what these reach of the world outside is here: sockets (net.c), clock, log and process
 * ids (seam.c), the main thread with its callbacks (work.c), and the disk (truth.c).
 *
 * All that happens is an event, at a time that the seed decides.  So one plan is one story.
 */
#ifndef BRAGG_SIMULATE_WORLD_H
#define BRAGG_SIMULATE_WORLD_H

#include "stage/runtime.h"

enum { FAULTS_MAX = 8, NAME_SIZE = 20 };

enum job { JOB_SOURCE, JOB_WORKER, JOB_SINK };

enum fault_kind {
    FAULT_KILL,    // a process ends without a word; another takes its place after `lasts_ns`
    FAULT_FREEZE,  // ... stands still for `lasts_ns`
    FAULT_HANG,    // its main thread stands still for `lasts_ns`
    FAULTS_LOCAL,  // those above happen everywhere, others in a network
    FAULT_VANISH = FAULTS_LOCAL,  // as if killed with its host: nobody is told for long
    FAULT_CUT,                    // one of its connections ends, and with it what is on its way
    FAULT_STALL,   // nothing that is sent through its connections arrives for `lasts_ns`
    FAULT_DAMAGE,  // some of what passes through its connections is damaged for `lasts_ns`
    FAULT_KINDS,
    FAULT_LEAVE = FAULT_KINDS,  // none: a worker is told to leave, and no other comes
    FAULT_LATE,                 // likewise: a process begins at_ns later than others
};

struct fault {
    enum fault_kind kind;
    unsigned slot;  // of the process
    uint64_t at_ns, lasts_ns;
    uint64_t frames;  // at_ns counts from when so many are durable; 0: from the beginning
    unsigned more;    // so many slots behind it suffer the same
};

/* What happens, but for the random numbers that `seed` begins. */
struct plan {
    uint64_t seed;
    bool network;          // tcp, else ipc
    bool handover;         // the main thread sends itself what it made, while the I/O thread waits
    bool order;            // last stages take frames as the source lists them
    bool guests;           // a stranger and a watcher come, too
    bool groups;           // every last stage gets every frame, else they share them
    bool memory;           // last stages have frames in memory, until they die; one of each group
    uint64_t image_bytes;  // as far as credit goes: no image is made
    unsigned workers, sinks;
    uint64_t frames, window;
    unsigned drift_ppm;  // clocks have nothing in common, and half of them run so much faster
    uint64_t room;       // a last stage's disk is full with so many frames; 0: never
    double dead_after_s;
    uint64_t latency_ns;  // of a message, at most
    uint64_t compute_ns;  // of a frame, usually
    uint64_t ends_ns;     // likewise of source and last stages, and none takes longer; 0: the same
    size_t nfaults;
    struct fault faults[FAULTS_MAX];
};

/* The plan that a seed stands for. */
struct plan plan_of(uint64_t seed);

/* Plans that failed once, each the least of its kind; what went wrong in *what.  NULL behind the
 * last one. */
const struct plan *plan_past(size_t i, const char **what);

/* True when nothing is wrong in it. */
bool plan_is_calm(const struct plan *plan);

/* One line on it, for people; `size` bytes with the NUL. */
void plan_tell(const struct plan *p, char *text, size_t size);

/* Names a slot, "worker 2". */
void plan_name(const struct plan *p, unsigned slot, char name[NAME_SIZE]);

/* What the main thread of a process does. */
enum doing { DOING_WAIT, DOING_COMPUTE, DOING_GIVE };

/* A place in the pipeline, in which one process after the other lives. */
struct process {
    char name[NAME_SIZE];
    enum job job;
    unsigned slot;
    char said[256];  // its latest error
    unsigned lives;  // processes that lived here so far
    bool alive;
    bool hurt;     // something may keep it from being heard, or from work
    bool renewed;  // it is to begin anew for another source
    bool over;     // no other process comes
    int status;    // with which the last one ended, if it was not killed
    int64_t pid;
    uint64_t former;    // the run before it began anew
    uint64_t ahead_ns;  // its clock is, and ...
    unsigned fast_ppm;  // ... runs so much faster
    uint64_t turn_ns;   // when its I/O thread has its turn, 0: never
    uint64_t alarm_ns;  // then an event looks for that, 0: none
    uint64_t slow_ns;   // its next frame takes so much longer
    uint64_t noisy_ns;  // its messages may be damaged until then
    uint64_t next_id;   // in order: no id below comes
    uint64_t main_ns;   // likewise its main thread
    uint64_t thaw_ns;   // frozen until then
    bool woken;         // its I/O thread was woken
    unsigned ntelling;  // sockets whose descriptor tells of something
    bool turned;        // it had a turn
    bool more;          // messages came in its last turn, after it looked
    enum doing doing;
    struct ticket ticket;
    struct runtime rt;  // large: cleared when a process begins
};

/* Who lives, and when it is. */
struct world {
    struct plan plan;
    uint64_t now_ns, random;
    uint64_t nevents;
    bool story;                          // is told on stdout
    struct process *self;                // whose code runs
    unsigned nslots, slots_room, nover;  // nover: no other process comes in so many
    struct process *slots;               // owned, until the end of the program
    uint64_t messages;                   // to and from the source
    bool timed;                          // CPU time is taken, too
    uint64_t source_us;                  // that of the source's I/O thread
    uint64_t source_end_ns;              // when it ended
    bool full;                           // a disk is: the run fails
    bool torn;         // the network had a fault: it may hide a path on which others are
    uint64_t calm_ns;  // the last fault is over
    uint64_t longest_ns, longest_seed;  // that a run took to end after its last fault, of all
    char wrong[512];                    // what should not have happened, "" for nothing
};
extern struct world world;

/* Begins the random numbers of a seed; the next one, below `below` (>= 1). */
void draw_begin(uint64_t seed);
static inline uint64_t draw(uint64_t below)
{
    /* xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators", 2016)
     */
    world.random ^= world.random >> 12;
    world.random ^= world.random << 25;
    world.random ^= world.random >> 27;
    const uint64_t bits = world.random * UINT64_C(0x2545F4914F6CDD1D);
    return (uint64_t)((unsigned __int128)bits * below >> 64);
}

/* Tells the story, if it is to be told: a line with the time and whose code runs. */
#define tell(...) (world.story ? tell_line(__VA_ARGS__) : (void)0)
void tell_line(const char *format, ...) __attribute__((cold, format(printf, 1, 2)));

/* Notes what should not have happened; the first counts. */
void violate(const char *format, ...) __attribute__((cold, format(printf, 1, 2)));

/* No other process comes in the place of this one. */
void world_over(struct process *p);

/* So many frames are durable: faults that wait for that are to come. */
void world_has(uint64_t frames);

/* Runs a plan from its beginning to its end; true when all was as it should be, else world.wrong
 * says what was not. */
bool world_run(const struct plan *plan, bool story);

#endif
