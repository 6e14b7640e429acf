"""Mutates a file and gives it to a program, again and again.

    mutate.py FORMAT SEED_FILE SECONDS SEED KEEP COMMAND

COMMAND is for bash and names the file as $FILE.  A run must end within its limits of time and memory,
and a failure must print one line on stderr.  Prints the number of runs.  A file that breaks a rule is
kept in KEEP.
"""
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

NAME, PATH, SECONDS, SEED, KEEP, COMMAND = sys.argv[1:]
CPU_S, WALL_S = 6, 30  # 5 s and a margin; a machine may be shared
SANITIZED = bool(os.environ.get("BRAGG_SANITIZED"))
MEMORY_KB = (4 if SANITIZED else 1) << 20
NUMBERS = [b"0", b"-1", b"nan", b"inf", b"1e308", b"-0", b"2147483648", b"18446744073709551615", b"1e-320", b"", b"x", b"1.5", b"\x00", b"\xff"]
HDF5_REPORTS = []
WORDS = [0, 1, 0x7f, 0x80, 0xff, 0x7fffffff, 0x80000000, 0xffffffff, 1 << 40, (1 << 64) - 1]


def number_at(data, draw):
    """Returns where a number of a text begins and ends, near a random position."""
    digits = b"0123456789+-.eE"
    at = draw.randrange(len(data))
    while at < len(data) and data[at] not in digits:
        at += 1
    end = at
    while end < len(data) and data[end] in digits:
        end += 1
    return at, end


def mutate(data, draw):
    data = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 4, 16))):
        if not data:
            break
        at, kind = draw.randrange(len(data)), draw.randrange(9)
        length = min(draw.choice((1, 2, 4, 8, 64, 512)), len(data) - at)
        if kind == 0:
            data[at] = draw.randrange(256)
        elif kind == 1:
            data[at] ^= 1 << draw.randrange(8)
        elif kind == 2:
            size = draw.choice((1, 2, 4, 8))
            data[at:at + size] = (draw.choice(WORDS) & ((1 << 8 * size) - 1)).to_bytes(size, draw.choice(("little", "big")))
        elif kind == 3:
            del data[at:at + length]
        elif kind == 4:
            data[at:at] = data[at:at + length]
        elif kind == 5:
            other = draw.randrange(len(data))
            data[at:at + length] = data[other:other + length]
        elif kind == 6:
            start, end = number_at(data, draw)
            data[start:end] = draw.choice(NUMBERS)
        elif kind == 7:
            lines = bytes(data).split(b"\n")
            a, b = draw.randrange(len(lines)), draw.randrange(len(lines))
            lines[a], lines[b] = lines[b], draw.choice((lines[a], lines[b], b""))
            data = bytearray(b"\n".join(lines))
        elif draw.randrange(8) == 0:
            del data[at:]
    return bytes(data)


def limit():
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(file):
    """Returns what is wrong with a run, or None."""
    with tempfile.TemporaryFile() as said:
        environment = dict(os.environ, FILE=file, ASAN_OPTIONS="exitcode=99:detect_leaks=0:allocator_may_return_null=1",
                           UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1")
        process = subprocess.Popen(["/bin/bash", "-c", COMMAND], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said,
                                   preexec_fn=limit, env=environment)
        status, end, usage = 0, time.monotonic() + WALL_S, None
        while usage is None:
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
            if pid:
                usage = used
            elif time.monotonic() > end:
                os.killpg(process.pid, signal.SIGKILL)
                os.wait4(process.pid, 0)
                process.returncode = 0
                return f"did not end within {WALL_S} s"
            else:
                time.sleep(0.002)
        process.returncode = code = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read(1 << 16).decode(errors="replace")
    # libhdf5 reads out of bounds in some damaged files.  Our programs let a child read such a file first, so that the
    # child ends there, and its parent says in one line that the file is damaged.
    reports = re.findall(r"(?:=+\n)?==\d+==ERROR: AddressSanitizer.*?==\d+==ABORTING\n", text, re.S)
    for report in reports:
        frames = re.findall(r"^    #[0-9]+ .*", report, re.M)
        own = next((frame for frame in frames if "interceptor" not in frame), "")
        if "libhdf5" in own:
            text = text.replace(report, "")
            HDF5_REPORTS.append(file)
    # A sanitizer also tells when it refuses a program so much memory.  The program must then say what is wrong.
    text = "".join(line for line in text.splitlines(True) if "WARNING: AddressSanitizer failed to allocate" not in line)
    lines = [line for line in text.splitlines() if ": warning: " not in line]
    if "Sanitizer" in text or "runtime error:" in text or code == 99:
        return "a sanitizer reports: " + next((line for line in lines if "rror" in line or "ERROR" in line), "")
    if code < 0 or code >= 128:
        number = -code if code < 0 else code - 128
        return f"killed by signal {number}" + (" (CPU time)" if number == signal.SIGXCPU else "")
    if usage.ru_maxrss > MEMORY_KB:
        return f"took {usage.ru_maxrss >> 10} MiB of memory"
    if file == PATH and code:
        return f"status {code}: {text[:300]}"
    if code and len(lines) != 1:
        return f"failed with status {code} and {len(lines)} lines: {lines[:3]}"
    return None


seed_data = open(PATH, "rb").read()
folder, name = os.path.split(os.path.abspath(PATH))
wrong = run(PATH)
if wrong:
    sys.exit(f"the file as it is: {wrong}")
count, failures, start = 0, 0, time.monotonic()
first = int(os.environ.get("MUTATE_RUN", "0"))  # begins with this run
while count == 0 or time.monotonic() - start < float(SECONDS):
    number = first + count
    file = os.path.join(folder, "mutated-" + name)
    with open(file, "wb") as out:
        out.write(mutate(seed_data, random.Random(f"{SEED} {NAME} {number}")))
    wrong = run(file)
    count += 1
    if wrong:
        failures += 1
        os.makedirs(KEEP, exist_ok=True)
        kept = os.path.join(KEEP, f"{SEED}-{number}-{name}")
        shutil.copy(file, kept)
        print(f"{NAME}: run {number} (MUTATE_SEED={SEED} MUTATE_RUN={number}): {wrong}; kept as {kept}")
        if failures == 5:
            break
if HDF5_REPORTS:
    print(f"{NAME}: libhdf5 read out of bounds in {len(HDF5_REPORTS)} runs, in a child process")
print(f"{NAME}: {count} runs, {failures} failures")
sys.exit(failures > 0)
