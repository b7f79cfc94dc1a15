#!/usr/bin/env python3
"""What `cmake --install` leaves: the program, a man page of each command, completion of three shells, the Python reader."""
import subprocess
import sys
import tempfile
from pathlib import Path

build = sys.argv[1]
with tempfile.TemporaryDirectory() as folder:
    subprocess.run(["cmake", "--install", build, "--prefix", folder], check=True, stdout=subprocess.DEVNULL)
    top = Path(folder)
    program = top / "bin/skewscope"
    help_text = subprocess.run([program, "help"], check=True, capture_output=True, text=True).stdout
    commands = [line.split()[0] for line in help_text.split("Commands:\n")[1].split("\n\n")[0].splitlines()
                if line.startswith("  ") and line[2] != " "]
    assert {"report", "rank", "help"} <= set(commands), commands
    pages = {page.name for page in (top / "share/man/man1").iterdir()}
    assert pages == {"skewscope.1"} | {f"skewscope-{command}.1" for command in commands}, pages
    for script in ("bash-completion/completions/skewscope", "zsh/vendor-completions/_skewscope",
                   "fish/vendor_completions.d/skewscope.fish"):
        assert "network-peak" in (top / "share" / script).read_text(), script
    shared = top / "share/skewscope"
    assert (shared / "SKILL.md").exists()
    subprocess.run([sys.executable, "-c", "import skewscope_report, torch_handler"], check=True, cwd=shared)
