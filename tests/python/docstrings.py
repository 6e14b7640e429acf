"""Runs the examples in the docstrings of the module, as they are printed."""
import contextlib
import dataclasses
import importlib
import importlib.util
import inspect
import io
import os
import re
import subprocess
import sys
import textwrap

import braggpipe

STAGES = {"transform": "bragg-geometry --quiet --detpixels=32 | bragg-orient --quiet --frames=2 | bragg-intensity --quiet | {} | bragg-tap",
          "source": "{} </dev/null | bragg-tap", "sink": "bragg-geometry --quiet --detpixels=32 | bragg-orient --quiet | bragg-intensity --quiet | {}"}


def documented(module):
    """Yields (name, docstring) of a module, and of its public classes, functions and methods."""
    yield module.__name__, module.__doc__
    for name in module.__all__:
        thing = getattr(module, name)
        if not (inspect.isclass(thing) or inspect.isfunction(thing)):
            continue
        assert thing.__doc__, f"{module.__name__}.{name} has no docstring"
        for field in dataclasses.fields(thing) if dataclasses.is_dataclass(thing) else ():
            assert f"\n        {field.name}: " in thing.__doc__, f"the docstring of {name} does not describe {field.name}"
        yield f"{module.__name__}.{name}", thing.__doc__
        for method, member in vars(thing).items() if inspect.isclass(thing) else ():
            text = inspect.getdoc(member) if callable(member) or isinstance(member, property) else None
            if text and not method.startswith("_"):
                yield f"{module.__name__}.{name}.{method}", text


def examples(text):
    """Yields the indented blocks that call the module."""
    for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", inspect.cleandoc(text) + "\n", re.MULTILINE):
        if re.search(r"\bbraggpipe(\.\w+)+\(", block):
            yield textwrap.dedent(block)


def run(name, code):
    said = io.StringIO()
    if name.rpartition(".")[2] in STAGES:
        with open("example.py", "w") as file:
            file.write(code)
        pipe = STAGES[name.rpartition(".")[2]].format(f"{sys.executable} example.py --quiet")
        ended = subprocess.run(f"set -o pipefail; {pipe}", shell=True, executable="/bin/bash", capture_output=True, text=True)
        assert ended.returncode == 0 and ended.stdout, (name, code, ended)
        return
    with contextlib.redirect_stdout(said):
        exec(compile(code, name, "exec"), {"__name__": "__main__", **{one: sys.modules[one] for one in ("braggpipe", "torch") if one in sys.modules}})


def main():
    count = 0
    needs = {"residual": "numpy", "resonet": "h5py", "shards": "safetensors", "torch": "torch", "unet": "torch"}
    modules = [braggpipe, *(importlib.import_module(f"braggpipe.{name}") for name, package in needs.items() if importlib.util.find_spec(package))]
    for module in modules:
        for name, text in documented(module):
            for code in examples(text):
                try:
                    run(name, code)
                except Exception as error:
                    raise AssertionError(f"the example of {name} fails: {error!r}\n{code}") from error
                count += 1
                assert not os.path.exists("core")
    assert count >= 16, count
    print(count)


main()
