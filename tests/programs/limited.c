/*
 * limited REPORT COMMAND [ARGUMENT...]: runs a command for at most ten seconds and
 * writes "STATUS MILLISECONDS KIBIBYTES" to REPORT: exit status (128 + signal when
 * killed), wall time, and the largest resident memory of any process it waited for.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const uint64_t start = clock_ns();
    const pid_t child = fork();
    if (child == 0) {
        (void)setpgid(0, 0);
        (void)alarm(10);
        (void)execvp(argv[2], argv + 2);
        _exit(127);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 1;
    (void)kill(-child, SIGKILL);  // what the command left running
    const unsigned long long ms = (clock_ns() - start) / 1000000;
    struct rusage usage;
    (void)getrusage(RUSAGE_CHILDREN, &usage);
    FILE *report = fopen(argv[1], "w");
    if (!report)
        return 1;
    fprintf(report, "%d %llu %ld\n",
            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), ms, usage.ru_maxrss);
    return fclose(report) == 0 ? 0 : 1;
}
