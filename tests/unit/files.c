/* Lines that several processes append to one file, such as that of --stats: no line gets lost, also
 * if the disk is full.  Files that are not finished when memory runs out. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/files.h"
#include "scratch.h"

static const char *intruder;  // file to which another process appends after half a line

/* Stands for write(2) on a disk that is full after half a line. */
ssize_t write(int file, const void *bytes, size_t size)
{
    if (!intruder)
        return syscall(SYS_write, file, bytes, size);
    const ssize_t half = syscall(SYS_write, file, bytes, size / 2);
    const int other = open(intruder, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(syscall(SYS_write, other, "theirs\n", 7), 7);
    (void)close(other);
    intruder = NULL;
    return half;
}

static struct rlimit unlimited;

static void limit_files(rlim_t bytes)
{
    const struct rlimit limit = {bytes, unlimited.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Returns the content of a file. */
static const char *content(const char *path)
{
    static char text[64];
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    (void)fclose(in);
    return text;
}

static void a_failed_line_leaves_no_part(void **state)
{
    (void)state;
    struct error e = {0};
    const char *path = scratch_text(scratch_path("a"), "first\n");
    limit_files(9);
    assert_int_equal(target_append(path, "second\n", 7, &e), STATUS_FAILED);
    assert_int_equal(target_append(scratch_path("new"), "0123456789", 10, &e), STATUS_FAILED);
    limit_files(unlimited.rlim_cur);
    assert_string_equal(content(path), "first\n");
    assert_int_equal(access(scratch_path("new"), F_OK), -1);
}

static void bytes_of_another_process_stay(void **state)
{
    (void)state;
    struct error e = {0};
    const char *path = scratch_text(scratch_path("a"), "first\n");
    intruder = path;
    limit_files(16);
    assert_int_equal(target_append(path, "second\n", 7, &e), STATUS_FAILED);
    limit_files(unlimited.rlim_cur);
    assert_string_equal(content(path), "first\nsectheirs\n");
}

/* While the test holds the lock, it removes the file, as a process does that made the file and
 * found the disk full. */
static void a_line_waits_for_the_lock_and_finds_the_file_removed(void **state)
{
    (void)state;
    struct error e = {0};
    const char *path = scratch_text(scratch_path("a"), "");
    const int held = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(flock(held, LOCK_EX), 0);
    const pid_t child = fork();
    if (child == 0)
        _exit(target_append(path, "line\n", 5, &e) ? 1 : 0);
    (void)usleep(50000);
    assert_int_equal(lseek(held, 0, SEEK_END), 0);  // not yet written
    assert_int_equal(unlink(path), 0);
    (void)close(held);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_string_equal(content(path), "line\n");
}

/* Memory runs out while two files are unfinished and a third one is finished.  A child of the
 * process, which ends for the same reason before, removes none of them. */
static void without_memory_no_unfinished_file_stays(void **state)
{
    (void)state;
    const char *names[] = {"a", "b", "c"};
    int status;
    const pid_t process = fork();
    if (process == 0) {
        (void)close(STDERR_FILENO);
        for (size_t i = 0; i < 3; i++)
            target_unfinished(scratch_text(scratch_path(names[i]), "half"));
        target_finished(scratch_path("b"));
        const pid_t child = fork();
        if (child == 0)
            (void)mem_array(SIZE_MAX, 2);
        (void)waitpid(child, &status, 0);
        if (access(scratch_path("a"), F_OK) == 0)
            (void)mem_array(SIZE_MAX, 2);
        _exit(2);
    }
    assert_int_equal(waitpid(process, &status, 0), process);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_int_equal(access(scratch_path("a"), F_OK), -1);
    assert_int_equal(access(scratch_path("b"), F_OK), 0);
    assert_int_equal(access(scratch_path("c"), F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_line_leaves_no_part),
        cmocka_unit_test(bytes_of_another_process_stay),
        cmocka_unit_test(a_line_waits_for_the_lock_and_finds_the_file_removed),
        cmocka_unit_test(without_memory_no_unfinished_file_stays),
    };
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)getrlimit(RLIMIT_FSIZE, &unlimited);
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
