/* The CPU cores that control groups allow: files of version 1 and 2. */
#include "unit.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/pipeline/pipeline.h"

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

static int enter(void **state)
{
    (void)state;
    char path[] = "/tmp/bragg-test-XXXXXX";
    return mkdtemp(path) && chdir(path) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    return system("rm -r \"$PWD\"") ? -1 : chdir("/");
}

static int64_t cores(const char *groups)
{
    put("groups", groups);
    return cores_of_control_group("groups", "root");
}

static void version_2(void **state)
{
    (void)state;
    folder("root");
    folder("root/job");
    folder("root/job/step");
    assert_int_equal(cores("0::/job/step\n"), 0);
    put("root/job/step/cpu.max", "max 100000\n");
    assert_int_equal(cores("0::/job/step\n"), 0);
    put("root/job/step/cpu.max", "400000 100000\n");
    assert_int_equal(cores("0::/job/step\n"), 4);
    assert_int_equal(cores("0::/job\n"), 0);
    put("root/job/cpu.max", "150000 100000\n");  // a group is limited by the groups around it
    assert_int_equal(cores("0::/job/step\n"), 2);
    put("root/cpu.max", "50000 100000\n");  // a container sees its own group as the root
    assert_int_equal(cores("0::/job/step\n"), 1);
    assert_int_equal(cores("0::/elsewhere\n"), 1);
    assert_int_equal(cores("0::/\n"), 1);
    put("root/cpu.max", "many\n");
    assert_int_equal(cores("0::/\n"), 0);
}

static void version_1(void **state)
{
    (void)state;
    folder("root/cpu");
    folder("root/cpu/job");
    put("root/cpu/job/cpu.cfs_quota_us", "250000\n");
    put("root/cpu/job/cpu.cfs_period_us", "100000\n");
    assert_int_equal(cores("5:cpuset:/job\n4:cpu,cpuacct:/job\n"), 3);
    assert_int_equal(cores("4:cpuacct,cpu:/job\n"), 3);
    assert_int_equal(cores("5:cpuset:/job\n"), 0);
    put("root/cpu/job/cpu.cfs_quota_us", "-1\n");
    assert_int_equal(cores("4:cpu,cpuacct:/job\n"), 0);
    assert_int_equal(cores("4\n"), 0);
    assert_int_equal(cores_of_control_group("none", "root"), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_2),
        cmocka_unit_test(version_1),
    };
    return unit_run_within(tests, enter, leave);
}
