/* Which file descriptors a process closes, also on a kernel without close_range. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/program.h"

#ifndef __NR_close_range
#define __NR_close_range 436
#endif

enum { FIRST = 30, KEPT = 10, MANY = 300 };  // descriptors; more than one read of their list shows

/* From now on the kernel refuses close_range with ENOSYS. */
static bool take_close_range(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),  // the number of the system call
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {.len = sizeof steps / sizeof *steps, .filter = steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0 &&
           syscall(__NR_close_range, ~0u, ~0u, 0) == -1 && errno == ENOSYS;
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static bool is_marked(int fd)
{
    return (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

/* In a child: 0 if exactly the right descriptors are closed or marked. */
static int try_all(bool without)
{
    for (int fd = FIRST; fd < FIRST + MANY; fd++)
        if (dup2(STDERR_FILENO, fd) != fd)
            return 1;
    if (dup2(STDERR_FILENO, KEPT) != KEPT || (without && !take_close_range()))
        return 2;
    if (!program_close_at_exec(FIRST + 2))
        return 3;
    for (int fd = FIRST; fd < FIRST + MANY; fd++)
        if (!is_open(fd) || is_marked(fd) != (fd >= FIRST + 2))
            return 4;
    program_close_files(FIRST, FIRST + MANY - 2);
    for (int fd = FIRST; fd < FIRST + MANY; fd++)
        if (is_open(fd) != (fd == FIRST + MANY - 1))
            return 5;
    program_close_files(FIRST, ~0u);
    return is_open(FIRST + MANY - 1) || !is_open(KEPT) || !is_open(STDERR_FILENO) ? 6 : 0;
}

static void try_in_child(bool without)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0)
        _exit(try_all(without));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void files_are_closed_by_number(void **state)
{
    (void)state;
    try_in_child(false);
}

static void files_are_closed_where_the_kernel_has_no_close_range(void **state)
{
    (void)state;
    try_in_child(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_closed_by_number),
        cmocka_unit_test(files_are_closed_where_the_kernel_has_no_close_range),
    };
    return unit_run(tests);
}
