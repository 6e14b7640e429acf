"""dials_server.py MODULE...: runs Python programs, each in a fork of this process, which has loaded MODULEs of dials.command_line.

Most programs of DIALS take longer to load their modules than to work.  A request comes in dials.requests of the
working directory, words that end in NUL: folder, file for the output, file for errors, program, arguments.  The
exit status goes to dials.answers.  It ends when the shell that started it ends.
"""
import ctypes
import importlib
import os
import runpy
import signal
import sys

import dials.array_family.flex
import dxtbx.model.experiment_list


def run(folder, output, errors, program, *arguments):
    os.chdir(folder)
    os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), 1)
    os.dup2(1 if errors == output else os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), 2)
    sys.argv = [program, *arguments]
    sys.path[0] = os.path.dirname(program)
    runpy.run_path(program, run_name="__main__")


def status_of(request):
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        run(*request)
        status = 0
    except SystemExit as stop:
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
        else:
            status = stop.code or 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
for module in sys.argv[1:]:
    importlib.import_module("dials.command_line." + module)
while os.getppid() != 1:
    with open("dials.requests") as requests:
        words = requests.read().split("\0")[:-1]
    with open("dials.answers", "w") as answers:
        print(status_of(words), file=answers)
