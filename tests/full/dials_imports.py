"""dials_imports.py FILE...: prints each name with 0 or 1, the exit status of dials.import with that file alone.

Every file has a process of its own, in which the modules of DIALS are loaded already.
"""
import os
import sys

from dials.command_line import dials_import

for path in sys.argv[1:]:
    child = os.fork()
    if not child:
        status = 1
        try:
            dials_import.run([path, "output.experiments=name.expt"])
            status = 0
        except SystemExit as stop:
            status = 1 if stop.code else 0
            print(stop, file=sys.stderr)
        finally:
            sys.stderr.flush()
            os._exit(status)
    print(path, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
