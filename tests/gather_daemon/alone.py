"""Namespaces that end with the test."""
import os
import sys

from daemon import PROGRAM


def alone():
    """Starts this script again, with mounts and processes of its own: whatever ends it, they end with it. Needs root."""
    if "SKEWSCOPE_ALONE" not in os.environ:
        os.environ["SKEWSCOPE_ALONE"] = "yes"
        os.execvp("unshare", ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable,
                              sys.argv[0], PROGRAM, *sys.argv[1:]])
