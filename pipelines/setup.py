"""Builds the Python module outside the source folder, so that pip leaves no build/ and *.egg-info here.

The settings of the module are in pyproject.toml.
"""
import atexit
import shutil
import tempfile

import setuptools

folder = tempfile.mkdtemp(prefix="braggpipe-")
atexit.register(shutil.rmtree, folder, ignore_errors=True)
setuptools.setup(options={"build": {"build_base": folder}, "egg_info": {"egg_base": folder}})
