#!/usr/bin/env python3
"""Makes a long trace out of a short one: repeats its events, each copy later in time, with ids and steps of its own.

usage: scripts/enlarge_trace.py IN.json[.gz] OUT.json[.gz] BYTES

Text in, text out: spelling, layout and mix of events stay those of the real trace, which a parser's speed depends on.
"""
import gzip
import re
import sys

STAMP = re.compile(r'("ts": ?"?)(\d+)')
IDS = re.compile(r'("(?:correlation|External id)": ?)(\d+)')
STEP = re.compile(r"ProfilerStep#(\d+)")
MOVED = re.compile(r'("(ts|correlation|External id)": ?"?|(ProfilerStep)#)(\d+)')


def opened(path, mode):
    return gzip.open(path, mode, compresslevel=6) if path.endswith(".gz") else open(path, mode)


def split(text):
    """Head up to the event array, its events, tail from the closing bracket."""
    begin = text.index("[", text.index('"traceEvents"')) + 1
    end = text.rindex("\n  ]")
    return text[:begin], text[begin:end], text[end:]


def copies(events, count):
    """The events again and again, each time moved by the length of the original."""
    stamps = [int(stamp) for _, stamp in STAMP.findall(events) if int(stamp) > 0]
    span = max(stamps) - min(stamps) + 1000
    ids = 1 + max((int(number) for _, number in IDS.findall(events)), default=0)
    steps = [int(step) for step in STEP.findall(events)] or [0]
    stride = {"ts": span, "correlation": ids, "External id": ids, "ProfilerStep": max(steps) - min(steps) + 1}
    for copy in range(count):
        yield MOVED.sub(lambda m: f"{m[1]}{int(m[4]) + copy * stride[m[2] or m[3]]}", events)


def main():
    source, target, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with opened(source, "rt") as file:
        head, events, tail = split(file.read())
    with opened(target, "wt") as file:
        file.write(head)
        for number, copy in enumerate(copies(events, max(1, round(size / len(events))))):
            file.write(("," if number else "") + copy)
        file.write(tail)


if __name__ == "__main__":
    main()
