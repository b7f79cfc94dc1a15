#!/usr/bin/env python3
"""Checks who includes whom. The tables below are the architecture; CMake targets alone do not stop a forbidden include.

usage: scripts/check_layers.py [ROOT]     prints file:line: what is wrong; exit code 1 when anything is
"""
import re
import sys
from pathlib import Path

# Layer -> layers whose public headers it may include, besides its own headers. A stage never includes a stage.
DATA = {"base", "collectives", "model"}
MAY_INCLUDE = {
    "base": set(),
    "collectives": {"base"},
    "model": {"base", "collectives"},
    "efficiency": DATA,  # below the stages: what one operator call is worth
    "digest": DATA,  # below the stages: a trace file as bytes
    "ingest": DATA | {"digest"},
    "matching": DATA,
    "align": DATA,
    "select": DATA,
    "attribute": DATA,
    "blame": DATA,
    "lanes": DATA,
    "summarize": DATA | {"efficiency"},
    "scale": DATA,
    "report": DATA | {"efficiency"},
    "simulate": DATA | {"digest"},
    "hang": DATA,
    "merge": DATA,
    "distribute": {"base"},
    "launch": set(),  # a program of its own
    "correlate": DATA | {"ingest", "matching", "align", "select", "attribute", "blame", "lanes", "summarize",
                          "report"},
    "advise": DATA,
    "protocol": {"base"},  # below gather and ship: what both ends say
    "libcurl": set(),  # below gather and ship: libcurl, loaded when it is called
    "gather": {"base", "protocol", "libcurl"},  # parses no trace
    "ship": DATA | {"protocol", "libcurl", "ingest"},
    "examine": DATA | {"efficiency", "ingest", "summarize", "advise", "report"},
    "cli": DATA | {"efficiency", "correlate", "examine", "advise", "distribute", "ingest", "align", "summarize",
                    "scale", "report", "simulate", "merge", "hang", "protocol", "gather", "ship"},
}

# Rooms inside a layer -> rooms of that layer that each may include besides itself. What stands in the layer's own folder
# may include all its rooms; a room that lists the layer itself stands above that folder, which then may not include it.
INNER = {
    "blame/line": set(),
    "blame/replay": {"blame/line"},
    "blame/origin": {"blame/line", "blame/replay"},
    "blame/pipeline": {"blame/line", "blame/replay"},
    "collectives/matcher": {"collectives"},
    "cli/process": set(),
    "cli/options": {"cli/process"},
    "cli/manual": set(),
    "cli/commands": {"cli/process", "cli/options", "cli/manual"},
    "cli/gathering": {"cli/process", "cli/options", "cli/commands"},
    "distribute/alone": set(),
    "distribute/mpi": set(),
    "report/fields": set(),
    "report/rows": {"report/fields"},
    "report/words": {"report/fields", "report/rows"},
    "report/tables": {"report/fields", "report/rows", "report/words"},
    "report/json": {"report/fields", "report/rows", "report/words", "report/tables"},
    "report/page_data": {"report/fields", "report/rows", "report/words", "report/tables", "report/json"},
    "summarize/gpu": set(),
    "summarize/operators": {"summarize/gpu"},
    "summarize/path": {"summarize/gpu", "summarize/operators"},
    "ship/http": set(),
    "gather/kept": set(),
    "gather/process": set(),
    "gather/disk": {"gather/kept", "gather/process"},
    "gather/recovery": {"gather/kept", "gather/disk"},
    "gather/store": {"gather/kept", "gather/process", "gather/disk", "gather/recovery"},
    "gather/history": {"gather/kept", "gather/process", "gather/disk"},
    "gather/reports": {"gather/kept", "gather/process", "gather/history"},  # what knows the store by its calls alone touches no disk
    "gather/http": {"gather/kept", "gather/process"},
    "gather/endpoints": {"gather/kept", "gather/process", "gather/history", "gather/http"},
    "gather/webhook": {"gather/kept", "gather/process", "gather/history"},
    "simulate/formats": set(),
    "hang/dumps": set(),
    "hang/stall": set(),
    "hang/words": set(),
    "simulate/hang": {"simulate"},
    "ingest/text": set(),
    "ingest/content": {"ingest/text"},
    "ingest/kineto": {"ingest/text", "ingest/content"},  # a format: one room a tracer
    "ingest/sqlite": {"ingest/text", "ingest/content"},
    "ingest/xplane": {"ingest/text", "ingest/content"},
    "ingest/nsys": {"ingest/text", "ingest/content", "ingest/sqlite"},
    "ingest/ascend": {"ingest/text", "ingest/content", "ingest/sqlite"},
    "ingest/rocm": {"ingest/text", "ingest/content", "ingest/sqlite"},
    # The wire format of protobuf is read as in profiles of JAX; rocprofv3 writes this format, too.
    "ingest/pftrace": {"ingest/text", "ingest/content", "ingest/xplane", "ingest/rocm"},
    "ingest/inspector": {"ingest/text", "ingest/content"},
    "ingest/stamps": {"ingest/content"},
    "ingest/link": {"ingest/text", "ingest/content", "ingest/stamps"},
    "ingest/ranks": {"ingest/text", "ingest/content"},
    "ingest/jobs": {"ingest/text", "ingest/ranks"},
    "ingest/digests": {"ingest/content", "ingest/ranks"},
}

# Header prefix -> layers that may include it. Public headers include none of these, but for what a layer is there to hand on.
HANDED_ON = {"curl/": "libcurl"}
WITH_TASKS = {"collectives", "digest", "ingest", "matching", "align", "select", "attribute", "blame", "lanes", "summarize", "report",
              "simulate", "correlate", "hang"}
EVERYWHERE = set(MAY_INCLUDE)
THIRD_PARTIES = {
    "simdjson": {"ingest", "hang"},
    "isa-l": {"ingest", "hang", "simulate", "merge", "ship"},
    "zstd": {"digest", "ingest", "simulate"},
    "tbb/": WITH_TASKS | {"cli"},
    "oneapi/": WITH_TASKS | {"cli"},
    "CLI/": {"cli"},
    "toml++/": {"cli"},
    "sqlite3": {"ingest", "report", "simulate", "gather"},
    "boost/math/": {"collectives", "scale"},
    "boost/": {"gather"},
    "openssl/": {"protocol", "gather"},
    "prometheus/": {"gather"},
    "seccomp.h": {"gather"},
    "curl/": {"libcurl", "ship"},
    "xlsxwriter": {"report"},
    "protozero/": {"ingest", "merge", "simulate"},
    "zip.h": {"merge"},
    "nlohmann/": {"collectives", "advise", "efficiency", "hang", "report", "simulate", "merge", "gather", "ship", "cli"},
    "fmt/": EVERYWHERE,
    "spdlog/": EVERYWHERE,
    "mpi.h": {"distribute"},
    "catch2/": set(),
}
# Libraries never print; only these layers touch files; base has what several need to leave a file whole or absent.
SYSTEM_HEADERS = {
    "iostream": {"cli"},
    "fstream": {"advise", "efficiency", "ingest", "report", "simulate", "cli"},
    "filesystem": {"base", "hang", "ingest", "report", "simulate", "merge", "gather", "ship", "cli"},
}

PRODUCT = ("src", "collectives", "include")
SOURCE_FOLDERS = ("src", "include", "collectives", "tests", "scripts")
FORBIDDEN_FOLDERS = {"util", "utils", "common", "helper", "helpers", "misc"}
MAX_LINES, MAX_PRODUCT_LINES = 500, 400  # the product: src, collectives, include
MAX_SOURCES = 25  # of one folder; what is more has rooms inside
MAX_MAIN_LINES = 60

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')


def layer_of(path):
    """The layer a file belongs to: (name, is a public header). Tests are the layer "tests/<folder>", what they share "tests/"."""
    parts = path.parts
    if parts[0] == "include":
        return (parts[2] if len(parts) > 3 else path.stem), True
    if parts[0] == "collectives":
        return "collectives", path.suffix == ".h"
    if parts[0] == "src":
        return (parts[1] if len(parts) > 2 else path.stem), False
    return ("tests/" + parts[1] if len(parts) > 2 else "tests/"), False


def inner_of(path):
    """The room inside its layer that a source stands in, as in INNER; the layer where it stands in none."""
    parts = path.parts[1:-1] if path.parts[0] == "src" else path.parts[:-1]
    return "/".join(parts[:2]) or layer_of(path)[0]


def inner_error(path, target):
    """Why a file of a layer may not include a private header of the same layer, or None."""
    room, target_room = inner_of(path), inner_of(target)
    layer = layer_of(path)[0]
    if room == target_room:
        return None
    if room == layer:
        return f"{layer} may not include {target_room} ({target})" if layer in INNER.get(target_room, set()) else None
    return None if target_room in INNER.get(room, set()) else f"{room} may not include {target_room} ({target})"


def resolve(root, path, name):
    """The project file that an include names, or None."""
    for base in (path.parent, Path("include"), Path(".")):
        candidate = root / base / name
        if candidate.is_file():
            return candidate.resolve().relative_to(root)
    return None


def project_include_error(path, target):
    layer, is_public = layer_of(path)
    target_layer, target_is_public = layer_of(target)
    if layer.startswith("tests/"):
        own = layer in ("tests/bench", "tests/fuzz") or target_layer in (layer, layer.removeprefix("tests/"), "tests/")
        return None if target_is_public or own else f"a test of another folder includes {target}"
    if target_layer.startswith("tests/"):
        return f"{target} is a test's"
    if is_public and not target_is_public:
        return f"a public header includes {target}, which is private"
    if target_layer == layer:
        return None if path.parts[0] == "include" or target.parts[0] == "include" else inner_error(path, target)
    if target_layer not in MAY_INCLUDE.get(layer, set()):
        return f"{layer} may not include {target_layer} ({target})"
    return None if target_is_public else f"{target} is private to {target_layer}"


def outside_include_error(path, name):
    layer, is_public = layer_of(path)
    if layer.startswith("tests/"):
        return None
    for prefix, layers in THIRD_PARTIES.items():
        if name.startswith(prefix):
            if is_public and HANDED_ON.get(prefix) != layer:
                return f"a public header includes <{name}>"
            return None if layer in layers else f"{layer} may not include <{name}>"
    if layer not in SYSTEM_HEADERS.get(name, EVERYWHERE):
        return f"{layer} may not include <{name}>"
    return None


def include_errors(root, path, lines):
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, name = match.group(1) == '"', match.group(2)
        target = resolve(root, path, name) if quoted else None
        if target:
            error = project_include_error(path, target)
        elif quoted and not any(name.startswith(prefix) for prefix in THIRD_PARTIES):
            error = f'"{name}" is no file of this project'
        else:
            error = outside_include_error(path, name)
        if error:
            yield f"{path}:{number}: {error}"


def size_errors(path, lines):
    limit = MAX_PRODUCT_LINES if path.parts[0] in PRODUCT else MAX_LINES
    if path.name == "main.cc" and path.parts[0] == "src":
        limit = MAX_MAIN_LINES
    if len(lines) > limit:
        yield f"{path}:{limit + 1}: {len(lines)} lines, {limit} allowed"


def check(root):
    """All violations under root, as "file:line: message"."""
    root = Path(root).resolve()
    errors = []
    for folder in SOURCE_FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            path = file.relative_to(root)
            if file.is_dir():
                if file.name in FORBIDDEN_FOLDERS:
                    errors.append(f"{path}:1: a folder is named for what it holds, not {file.name}")
                sources = len(list(file.glob("*.cc")))
                if sources > MAX_SOURCES:
                    errors.append(f"{path}:1: {sources} sources in one folder, {MAX_SOURCES} allowed")
                continue
            if path.suffix not in (".cc", ".h", ".py"):
                continue
            lines = file.read_text(encoding="utf-8").splitlines()
            errors += size_errors(path, lines)
            if path.suffix != ".py":
                errors += include_errors(root, path, lines)
                layer = layer_of(path)[0]
                if not layer.startswith("tests/") and layer not in MAY_INCLUDE:
                    errors.append(f"{path}:1: layer {layer} is not in the table of scripts/check_layers.py")
                elif path.parts[0] in ("src", "collectives") and inner_of(path) not in {layer} | set(INNER):
                    errors.append(f"{path}:1: room {inner_of(path)} is not in the table of scripts/check_layers.py")
    return errors


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    errors = check(root)
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
