/* The moment of a run that its page shows: the processes have kept their statistics of this
 * moment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "run/display/report.h"
#include "scratch.h"
#include "unit.h"

/* One span of 6 ms for each frame, 10 ms apart. */
static void write_trace(const char *folder, const char *name, int first, int last)
{
    char *path = command_file(folder, name, "trace");
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    for (int i = first; i < last; i++)
        fprintf(
            out,
            "{\"name\":\"compute\",\"ph\":\"X\",\"ts\":%d,\"dur\":6000,\"args\":{\"frame\":%d}},"
            "\n",
            10000 * i, i);
    assert_int_equal(fclose(out), 0);
    mem_free(path);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    while ((text = strstr(text, what))) {
        text += strlen(what);
        n++;
    }
    return n;
}

static char *draw(const char *folder, struct process *processes, size_t n)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    timeline_write(out, folder, processes, n);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void all_worked_then(void **state)
{
    (void)state;
    struct command commands[3] = {{.name = "all"}, {.name = "last"}, {.name = "none"}};
    struct process processes[3] = {
        {.command = &commands[0]}, {.command = &commands[1]}, {.command = &commands[2]}};
    write_trace(scratch_folder, "all", 0, 1000);
    write_trace(scratch_folder, "last", 900, 1010);
    char *text = draw(scratch_folder, processes, 3);
    const size_t bars = count(text, "<rect");
    assert_true(bars >= 20 && bars <= 24);
    assert_non_null(strstr(text, "frame 950"));
    assert_int_equal(count(text, "frame 950"), 2);
    free(text);
    write_trace(scratch_folder, "last", 1000, 1010);  // they never worked together
    text = draw(scratch_folder, processes, 3);
    assert_string_equal(text, "");
    free(text);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_worked_then),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
