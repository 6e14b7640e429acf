/* Whether the system killed a process because memory ran out: files of control groups, version 1
 * and 2. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/local/restart.h"

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void folder(const char *path)
{
    assert_int_equal(mkdir(path, 0700), 0);
}

/* Two kills, one after the other, which `file` of the group in `groups` reports. */
static void counts(const char *groups, const char *file, const char *before, const char *after)
{
    struct oom o;
    put("groups", groups);
    put(file, before);
    oom_open(&o, "groups", "root");
    assert_string_equal(o.path, file);
    assert_false(oom_happened(&o));
    put(file, after);
    assert_true(oom_happened(&o));
    assert_true(oom_happened(&o));
    assert_false(oom_happened(&o));
    assert_int_equal(remove(file), 0);
    assert_false(oom_happened(&o));
}

static void both_versions_tell(void **state)
{
    static const char two[] = "low 0\nhigh 0\nmax 9\noom 3\noom_kill 4\noom_group_kill 0\n",
                      one[] = "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n";
    (void)state;
    counts("0::/a/b\n", "root/a/b/memory.events", two, "max 12\noom_kill 6\n");
    counts("3:cpu:/\n4:memory:/a\n0::/\n", "root/memory/a/memory.oom_control", one,
           "under_oom 0\noom_kill 6\n");
    /* In a container its group is the root of what it sees. */
    counts("4:memory:/host/x\n", "root/memory/memory.oom_control", one, "oom_kill 6\n");
    counts("4:cpu:/x\n0::/a\n", "root/unified/a/memory.events", two, "oom_kill 6\n");
}

static void others_do_not(void **state)
{
    static const char *const groups[] = {"",           "x",           "::", "0::/nowhere\n",
                                         "7:memory\n", "1:cpu:/a/b\n"};
    (void)state;
    put("root/a/b/memory.events", "oom 3\n");
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        struct oom o;
        put("groups", groups[i]);
        oom_open(&o, "groups", "root");
        assert_string_equal(o.path, "");
        assert_false(oom_happened(&o));
    }
}

int main(void)
{
    char scratch[] = "/tmp/oom.XXXXXX";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_versions_tell),
        cmocka_unit_test(others_do_not),
    };
    if (!mkdtemp(scratch) || chdir(scratch) != 0)
        return 1;
    folder("root");
    folder("root/a");
    folder("root/a/b");
    folder("root/memory");
    folder("root/memory/a");
    folder("root/unified");
    folder("root/unified/a");
    const int failed = unit_run(tests);
    return system("rm -r \"$PWD\"") || failed;
}
