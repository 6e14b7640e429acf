#include "base/trace.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/files.h"

struct span {
    const char *name;
    uint64_t id, start_ns, end_ns;
};

static struct {
    struct span *spans;
    size_t capacity;
    atomic_size_t next;  // number of spans recorded so far, including overwritten ones
} ring;

enum status trace_check(const char *path, struct error *e)
{
    static const char *const begins[] = {"[{\"name\":", "[]\n", NULL};
    return target_check_kind(path, "trace", begins, e);
}

void trace_open(size_t capacity)
{
    ring.spans = mem_array(capacity, sizeof *ring.spans);
    ring.capacity = capacity;
    atomic_store(&ring.next, 0);
}

void trace_span(const char *name, uint64_t id, uint64_t start_ns, uint64_t end_ns)
{
    if (!ring.spans)
        return;
    const size_t i = atomic_fetch_add_explicit(&ring.next, 1, memory_order_relaxed);
    ring.spans[i % ring.capacity] = (struct span){name, id, start_ns, end_ns};
}

static void write_events(FILE *out, const char *process)
{
    const long pid = (long)getpid();
    const size_t next = atomic_load(&ring.next);
    const size_t count = next < ring.capacity ? next : ring.capacity;
    fprintf(out, "[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%ld,\"args\":{\"name\":\"%s\"}}",
            pid, process);
    fprintf(out,
            ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%ld,\"tid\":%ld,"
            "\"args\":{\"name\":\"frames\"}}",
            pid, pid);
    for (size_t i = next - count; i < next; i++) {
        const struct span *s = &ring.spans[i % ring.capacity];
        fprintf(out,
                ",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%ld,\"tid\":%ld,\"ts\":%.3f,\"dur\":%.3f,"
                "\"args\":{\"frame\":%" PRIu64 "}}",
                s->name, pid, pid, (double)s->start_ns / 1e3,
                (double)(s->end_ns - s->start_ns) / 1e3, s->id);
    }
    fputs("]\n", out);
}

enum status trace_write(const char *path, const char *process, struct error *e)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return error_memory(e, "the trace");
    write_events(out, process);
    const bool bad = ferror(out);
    mem_free(ring.spans);
    ring.spans = NULL;
    const enum status s = fclose(out) != 0 || bad ? error_memory(e, "the trace")
                                                  : target_replace(path, text, length, e);
    free(text);
    return s;
}
