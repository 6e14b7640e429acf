/*
 * The simulator: many processes of a run in one thread, with a clock that jumps from event to
 * event.  The code of link, control and stage/turn.c is that of the real programs.  The simulator
 * replaces what this code uses of the outside world: sockets (net.c), clock, log and process ids
 * (seam.c), the main thread with its callbacks (work.c), and the disk (truth.c).
 *
 * Everything is an event at a time that follows from the seed.  One plan is therefore always the
 * same story, which is the list of events that --story prints.
 */
#ifndef BRAGG_SIMULATE_WORLD_H
#define BRAGG_SIMULATE_WORLD_H

#include "stage/runtime.h"

enum { FAULTS_MAX = 8, NAME_SIZE = 20 };

enum job { JOB_SOURCE, JOB_WORKER, JOB_SINK };

enum fault_kind {
    FAULT_KILL,    // a process ends without a message; another replaces it after `lasts_ns`
    FAULT_FREEZE,  // a process is frozen for `lasts_ns`
    FAULT_HANG,    // its main thread hangs for `lasts_ns`
    FAULTS_LOCAL,  // number of faults that happen everywhere; those below need a network
    FAULT_VANISH = FAULTS_LOCAL,  // as if its host failed: neighbours notice it late
    FAULT_CUT,     // one of its connections ends, and the messages in flight are lost
    FAULT_STALL,   // no message arrives through its connections for `lasts_ns`
    FAULT_DAMAGE,  // some messages of its connections are corrupt for `lasts_ns`
    FAULT_KINDS,
    FAULT_LEAVE = FAULT_KINDS,  // no fault: a worker must leave, and is not replaced
    FAULT_LATE,                 // no fault: a process begins at_ns later than the others
};

struct fault {
    enum fault_kind kind;
    unsigned slot;  // of the process
    uint64_t at_ns, lasts_ns;
    uint64_t frames;  // at_ns counts from when this number is durable; 0: from the start
    unsigned more;    // number of following slots that have the same fault
};

/* What happens in a run.  The rest follows from the random numbers of `seed`. */
struct plan {
    uint64_t seed;
    bool network;          // tcp, else ipc
    bool handover;         // the main thread sends its results while the I/O thread waits
    bool order;            // sinks take frames in the order of the source
    bool guests;           // an unauthorised process and an observer connect, too
    bool groups;           // every sink gets every frame; false: the sinks divide the frames
    bool memory;           // sinks keep frames in memory until they die; one sink per group
    uint64_t image_bytes;  // size that determines the credit; no image is made
    unsigned workers, sinks;
    uint64_t frames, window;
    unsigned drift_ppm;  // clocks are independent, and half of them run faster by this
    uint64_t room;       // number of frames that fill the disk of a sink; 0: never full
    double dead_after_s;
    uint64_t latency_ns;  // largest latency of a message
    uint64_t compute_ns;  // usual computing time of a frame
    uint64_t ends_ns;     // the same for source and sinks, at most; 0: as compute_ns
    size_t nfaults;
    struct fault faults[FAULTS_MAX];
};

/* The plan that a seed stands for. */
struct plan plan_of(uint64_t seed);

/* Returns plan number i of those that failed once, each with as few faults as possible.  *what is
 * what went wrong.  NULL: there is no such plan. */
const struct plan *plan_past(size_t i, const char **what);

/* Returns true if the plan has no fault. */
bool plan_is_calm(const struct plan *plan);

/* Writes one line about the plan, for people, into `text` of `size` bytes. */
void plan_tell(const struct plan *p, char *text, size_t size);

/* Writes the name of a slot, such as "worker 2". */
void plan_name(const struct plan *p, unsigned slot, char name[NAME_SIZE]);

/* What the main thread of a process does. */
enum doing { DOING_WAIT, DOING_COMPUTE, DOING_GIVE };

/* A slot: a place in the pipeline, with one process after the other. */
struct process {
    char name[NAME_SIZE];
    enum job job;
    unsigned slot;
    char said[256];  // its latest error
    unsigned lives;  // number of processes that the slot has had so far
    bool alive;
    bool hurt;     // a fault may delay its messages or its work
    bool renewed;  // it must start again for another source
    bool over;     // no other process follows in the slot
    int status;    // exit status of the previous process, if it was not killed
    int64_t pid;
    uint64_t former;    // run id before it started again
    uint64_t ahead_ns;  // its clock is ahead by this, and ...
    unsigned fast_ppm;  // ... runs faster by this
    uint64_t turn_ns;   // time of the next turn of its I/O thread; 0: never
    uint64_t alarm_ns;  // time of the event that starts this turn; 0: no event
    uint64_t slow_ns;   // additional time of its next frame
    uint64_t noisy_ns;  // its messages may be corrupt until this time
    uint64_t next_id;   // with `order`: no id below this one follows
    uint64_t main_ns;   // time of the next step of its main thread; 0: never
    uint64_t thaw_ns;   // it is frozen until this time
    bool woken;         // its I/O thread was woken
    unsigned ntelling;  // number of sockets whose descriptor is readable
    bool turned;        // it had a turn already
    bool more;          // messages arrived in its latest turn, after it had looked for them
    enum doing doing;
    struct ticket ticket;
    struct runtime rt;  // large; cleared when a process begins
};

/* The state of the simulation. */
struct world {
    struct plan plan;
    uint64_t now_ns, random;
    uint64_t nevents;
    bool story;                          // print all events to stdout
    struct process *self;                // the process whose code is running
    unsigned nslots, slots_room, nover;  // nover: number of slots that are over
    struct process *slots;               // owned, until the end of the program
    uint64_t messages;                   // number of messages to and from the source
    bool timed;                          // measure the CPU time, too
    uint64_t source_us;                  // CPU time of the source's I/O thread
    uint64_t source_end_ns;              // time when the source ended
    bool full;                           // a disk is full, so the run fails
    bool torn;         // the network had a fault, which may hide a path to other processes
    uint64_t calm_ns;  // time when the last fault is over
    uint64_t longest_ns, longest_seed;  // longest time from the last fault to the end, of all runs
    char wrong[512];                    // the first violation of a rule; "": none
};
extern struct world world;

/* draw_begin begins the random numbers of a seed.  draw returns the next one, from 0 to below - 1.
 */
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

/* Prints a line of the story, with the time and the process, if the story is wanted. */
#define tell(...) (world.story ? tell_line(__VA_ARGS__) : (void)0)
void tell_line(const char *format, ...) __attribute__((cold, format(printf, 1, 2)));

/* Records the violation of a rule.  Only the first one is kept. */
void violate(const char *format, ...) __attribute__((cold, format(printf, 1, 2)));

/* Marks a slot as over: no other process follows in it. */
void world_over(struct process *p);

/* Schedules the faults that wait until this number of frames is durable. */
void world_has(uint64_t frames);

/* Runs a plan from its beginning to its end.  Returns true if no rule was violated; otherwise
 * world.wrong is the violation. */
bool world_run(const struct plan *plan, bool story);

#endif
