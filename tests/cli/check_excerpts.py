#!/usr/bin/env python3
"""Reads a merged trace of excerpts back and holds it against what merge said of its windows and against the report.

usage: check_excerpts.py MERGED SAID REPORT     prints what is wrong, line by line; nothing when all is well

SAID: what `skewscope merge --excerpt ... --json` printed. Checked: each finding lies where the report puts the calls of its
instance, or within the calls of its ranks; the slice of each finding; that all calls of its ranks that touch its time are
in the file, as in tables/collective_ranks.csv; and that nothing is that touches no window.
"""
import csv
import json
import sys

from check_merged import ERRORS, SESSION, expect, read_json, read_pftrace


def main():
    merged, said, report = sys.argv[1:]
    slices, _ = read_json(merged) if merged.endswith(".json.gz") else read_pftrace(merged)
    with open(said) as file:
        windows = json.load(file)["windows"]
    with open(report + "/report.json") as file:
        document = json.load(file)
    zero = document["job"]["window_start_ns"]
    with open(report + "/tables/collective_ranks.csv") as file:
        table = [{name: int(row[name]) for name in ("instance", "rank", "start_ns", "end_ns")} for row in csv.DictReader(file)]
    shown = {(one.arguments["finding"], one.name, one.start, one.end) for one in slices if one.category == "excerpt"}
    expect(len(shown) == len(windows), f"{len(shown)} findings shown, {len(windows)} windows")
    calls = {(one.arguments["instance"], one.process % SESSION): (one.start, one.end)
             for one in slices if one.category == "communication" and "instance" in one.arguments}
    for window in windows:
        name = f"{window['finding']}: {window['words']}"
        start, end = window["from_ns"], window["to_ns"]
        expect((window["finding"], window["words"], start, end) in shown, f"{name}: its slice is not there")
        margin = max(1_000_000, (end - start) // 2)
        expect((window["start_ns"], window["end_ns"]) == (start - margin, end + margin), f"{name}: another window")
        own = [row for row in table if row["instance"] == window["instance"]]
        if own:
            expect(start == zero + min(row["start_ns"] for row in own), f"{name}: does not begin with its instance")
            expect(end >= zero + max(row["end_ns"] for row in own), f"{name}: ends before its instance")
            expect(not window["ranks"] or window["ranks"] == sorted(row["rank"] for row in own), f"{name}: other ranks")
        within = [row for row in table if (not window["ranks"] or row["rank"] in window["ranks"])
                  and zero + row["start_ns"] <= end and zero + row["end_ns"] >= start]
        unmatched = [one for one in slices if one.category == "communication" and "instance" not in one.arguments
                     and one.process % SESSION in window["ranks"] and (one.start, one.end) == (start, end)]
        expect(unmatched if window["finding"].startswith("unmatched-") else within, f"{name}: no call is in its time")
        for row in within:
            expect(calls.get((row["instance"], row["rank"])) == (zero + row["start_ns"], zero + row["end_ns"]),
                   f"{name}: instance {row['instance']} of rank {row['rank']} is not there, or elsewhere")
        if window["finding"] == "straggler":
            rank = int(window["words"].split()[1].rstrip(",:"))
            last = max(own, key=lambda row: row["start_ns"])
            expect(rank == last["rank"], f"{name}: rank {last['rank']} is the last to arrive there")
    for (instance, rank), (start, end) in calls.items():
        touched = any((not w["ranks"] or rank in w["ranks"]) and start <= w["end_ns"] and end >= w["start_ns"] for w in windows)
        expect(touched, f"instance {instance} of rank {rank} touches no window")
    led = [row["rank"] for row in document["stragglers"][:1]]
    named = [w["words"] for w in windows if w["finding"] == "straggler"]
    expect(any(words.startswith(f"rank {rank}") for rank in led for words in named), "the report's first straggler has no excerpt")
    print("\n".join(ERRORS), end="")
    return 1 if ERRORS else 0


if __name__ == "__main__":
    sys.exit(main())
