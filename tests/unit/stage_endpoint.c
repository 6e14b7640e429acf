/* Endpoints of the options, the line in the pipe, the private folder. */
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "link/endpoint.h"

static enum status parse(const char *text, bool tcp)
{
    bool bind;
    char endpoint[ENDPOINT_SIZE];
    return endpoint_parse(text, tcp, &bind, endpoint, NULL);
}

static void what_may_be_bound(void **state)
{
    (void)state;
    bool bind;
    char endpoint[ENDPOINT_SIZE];
    assert_int_equal(endpoint_parse("@ipc:///a/b", false, &bind, endpoint, NULL), STATUS_OK);
    assert_true(bind);
    assert_string_equal(endpoint, "ipc:///a/b");
    assert_int_equal(endpoint_parse("tcp://far.example:1", true, &bind, endpoint, NULL), STATUS_OK);
    assert_false(bind);
    assert_int_equal(parse("@tcp://127.0.0.1:*", false), STATUS_USAGE);
    assert_int_equal(parse("tcp://127.0.0.1:5", false), STATUS_USAGE);
    assert_int_equal(parse("@tcp://127.0.0.1:*", true), STATUS_OK);
    assert_int_equal(parse("@tcp://*:5", true), STATUS_OK);
    assert_int_equal(parse("ipc://relative", false), STATUS_USAGE);
    assert_int_equal(parse("ipc://@abstract", false), STATUS_USAGE);
    assert_int_equal(parse("inproc://x", true), STATUS_USAGE);
    assert_int_equal(parse("ipc:///with blank", true), STATUS_USAGE);
    assert_int_equal(parse("", true), STATUS_USAGE);
}

static void where_clients_may_connect(void **state)
{
    (void)state;
    assert_int_equal(endpoint_check_clients("ipc:///a/b", false, NULL), STATUS_OK);
    assert_int_equal(endpoint_check_clients("tcp://127.0.0.1:*", false, NULL), STATUS_OK);
    assert_int_equal(endpoint_check_clients("tcp://localhost:5", false, NULL), STATUS_OK);
    assert_int_equal(endpoint_check_clients("tcp://localhost.example:5", false, NULL),
                     STATUS_USAGE);
    assert_int_equal(endpoint_check_clients("tcp://127.evil.example:5", false, NULL), STATUS_USAGE);
    assert_int_equal(endpoint_check_clients("tcp://10.0.0.1:5", false, NULL), STATUS_USAGE);
    assert_int_equal(endpoint_check_clients("tcp://*:5", false, NULL), STATUS_USAGE);
    assert_int_equal(endpoint_check_clients("tcp://*:5", true, NULL), STATUS_OK);
    assert_int_equal(endpoint_check_clients("", true, NULL), STATUS_USAGE);
}

static void control_on_all_interfaces(void **state)
{
    (void)state;
    char all[ENDPOINT_SIZE] = "tcp://0.0.0.0:71", one[ENDPOINT_SIZE] = "tcp://10.1.1.1:71";
    endpoint_resolve(all, "ipc:///x");
    assert_string_equal(all, "tcp://0.0.0.0:71");
    endpoint_resolve(all, "tcp://node3:5");
    assert_string_equal(all, "tcp://node3:71");
    endpoint_resolve(one, "tcp://node3:5");
    assert_string_equal(one, "tcp://10.1.1.1:71");
}

static void pipe_line_there_and_back(void **state)
{
    (void)state;
    struct pipe_line in = {.run = UINT64_C(0x0123456789abcdef), .data = "ipc:///d"}, out;
    char text[PIPE_LINE_SIZE];
    for (int i = 0; i < 2; i++) {
        pipe_line_format(&in, text);
        text[strlen(text) - 1] = 0;
        assert_int_equal(pipe_line_parse(text, &out, NULL), STATUS_OK);
        assert_true(out.run == in.run);
        assert_string_equal(out.data, in.data);
        assert_string_equal(out.control, in.control);
        memcpy(in.control, "tcp://h:1", 10);
    }
}

static void pipe_lines_of_strangers(void **state)
{
    (void)state;
    static const char *const lines[] = {"",
                                        "hello",
                                        "bragg1",
                                        "bragg1 0123456789abcdef ipc:///d",
                                        "bragg2 0123456789abcdef ipc:///d -",
                                        "bragg1 xyz ipc:///d -",
                                        "bragg1 0123456789abcdef /etc/passwd -",
                                        "bragg1 0123456789abcdef @ipc:///d -",
                                        "bragg1 0123456789abcdef ipc:///d - more",
                                        "bragg1 0000000000000000 ipc:///d -",
                                        "bragg1 0123456789abcdef ipc:///d file:///x"};
    struct pipe_line line;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_int_equal(pipe_line_parse(lines[i], &line, NULL), STATUS_USAGE);
    char longer[2000];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_int_equal(pipe_line_parse(longer, &line, NULL), STATUS_USAGE);
}

static void folder_is_private_and_goes(void **state)
{
    (void)state;
    struct folder folder;
    struct stat what;
    assert_int_equal(folder_open(&folder, NULL), STATUS_OK);
    const struct folder copy = folder;
    assert_int_equal(stat(copy.path, &what), 0);
    assert_int_equal(what.st_mode & 0777, 0700);
    folder_close(&folder);
    assert_int_not_equal(stat(copy.path, &what), 0);
    folder_close(&folder);
}

/* Makes a folder with a socket in it, as a process group of its own, sends its path and waits. */
static void be_killed(int fd)
{
    struct folder folder;
    char path[ENDPOINT_SIZE + 16];
    (void)setpgid(0, 0);
    if (folder_open(&folder, NULL) != STATUS_OK)
        _exit(1);
    (void)snprintf(path, sizeof path, "%s/data", folder.path);
    if (mknod(path, S_IFSOCK | 0600, 0) != 0 ||
        write(fd, folder.path, sizeof folder.path) != (ssize_t)sizeof folder.path)
        _exit(1);
    (void)pause();
    _exit(1);
}

static void folder_goes_when_the_whole_group_is_killed(void **state)
{
    (void)state;
    int fd[2];
    char path[ENDPOINT_SIZE];
    assert_int_equal(pipe(fd), 0);
    const pid_t child = fork();
    if (child == 0)
        be_killed(fd[1]);
    assert_int_equal(read(fd[0], path, sizeof path), sizeof path);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(kill(-child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    for (int i = 0; i < 6000 && access(path, F_OK) == 0; i++)
        (void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    assert_int_equal(access(path, F_OK), -1);
    (void)close(fd[0]);
    (void)close(fd[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_be_bound),
        cmocka_unit_test(where_clients_may_connect),
        cmocka_unit_test(control_on_all_interfaces),
        cmocka_unit_test(pipe_line_there_and_back),
        cmocka_unit_test(pipe_lines_of_strangers),
        cmocka_unit_test(folder_is_private_and_goes),
        cmocka_unit_test(folder_goes_when_the_whole_group_is_killed),
    };
    return unit_run(tests);
}
