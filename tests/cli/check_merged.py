#!/usr/bin/env python3
"""Reads a merged trace back, by nothing of skewscope, and holds it against the traces and the report it was made of.

usage: check_merged.py MERGED REPORT TRACE...     prints what is wrong, line by line; nothing when all is well

MERGED (.json.gz or .pftrace) has all categories. Checked: the form (of .pftrace by the field numbers of Perfetto's public
schema); that slices of a track nest or lie apart; that each arrow has one beginning and one end, not before it; that every
row of the traces is there; that collectives, waits and transfers are those of tables/collective_ranks.csv.
"""
import csv
import gzip
import json
import sys
from collections import Counter, defaultdict
from decimal import Decimal

SESSION = 1_000_000
ERRORS = []


def expect(holds, what):
    if not holds and len(ERRORS) < 20:
        ERRORS.append(what)


class Slice:
    def __init__(self, process, track, name, category, start, arguments):
        self.process, self.track, self.name, self.category = process, track, name, category
        self.start, self.end, self.arguments = start, None, arguments
        self.arrows_out, self.arrows_in = [], []


def nanoseconds(microseconds):
    ns = Decimal(microseconds) * 1000
    expect(ns == int(ns), f"{microseconds} us is no whole number of nanoseconds")
    return int(ns)


def read_json(path):
    """Slices and counter values of Chrome's JSON; times are Unix nanoseconds."""
    with gzip.open(path) as file:
        document = json.load(file, parse_float=Decimal)
    base = document["baseTimeNanoseconds"]
    slices, values, named, starts = [], [], set(), {}
    for event in document["traceEvents"]:
        place = (event["pid"], event.get("tid"))
        if event["ph"] == "M":
            named.add(place)
            continue
        at = base + nanoseconds(event["ts"])
        expect(event["ts"] >= 0, "a time stamp is negative")
        if event["ph"] == "C":
            values.append((event["pid"], at, event["args"]["ns"]))
            continue
        expect(place in named, f"a track without a name: {place}")
        if event["ph"] == "X":
            one = Slice(*place, event["name"], event["cat"], at, event.get("args", {}))
            one.end = at + nanoseconds(event["dur"])
            slices.append(one)
            starts.setdefault((place, at), []).append(one)
        else:
            # The innermost slice at that time: the last written.
            owner = starts.get((place, at), [None])[-1]
            expect(owner is not None, "an arrow without a slice")
            if owner:
                (owner.arrows_out if event["ph"] == "s" else owner.arrows_in).append(event["id"])
    return slices, values


def fields(data):
    """(number, value) of a protobuf message: integers, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
        elif kind == 1:
            yield key >> 3, int.from_bytes(data[at:at + 8], "little")
            at += 8
        elif kind == 2:
            size = varint()
            expect(at + size <= len(data), "a field runs over the end of its message")
            yield key >> 3, data[at:at + size]
            at += size
        else:
            raise ValueError(f"wire type {kind}")


def message(data):
    out = defaultdict(list)
    for number, value in fields(data):
        out[number].append(value)
    return out


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Sequence:
    """State of one packet sequence: InternedData 1 categories, 2 names, 3 annotation names, 29 annotation texts."""

    def __init__(self):
        self.texts = {1: {}, 2: {}, 3: {}, 29: {}}

    def learn(self, data):
        for table, entries in message(data).items():
            for entry in map(message, entries):
                expect(entry[1][0] not in self.texts[table], "a number is given twice")
                self.texts[table][entry[1][0]] = entry[2][0].decode()

    def text(self, table, number):
        expect(number in self.texts[table], f"text {number} of table {table} was never told")
        return self.texts[table].get(number)


def read_pftrace(path):
    with open(path, "rb") as file:
        data = file.read()
    sequences, tracks, processes, events = {}, {}, {}, []
    for number, packet in fields(data):
        expect(number == 1, "the trace holds more than packets")
        packet = message(packet)
        sequence_id, flags = packet[10][0], packet[13][0]
        expect(sequence_id > 0, "sequence 0")
        if flags & 1:
            sequences[sequence_id] = Sequence()
        expect(sequence_id in sequences, "a sequence does not begin with a cleared state")
        sequence = sequences[sequence_id]
        for interned in packet[12]:
            sequence.learn(interned)
        for descriptor in map(message, packet[60]):
            uuid = descriptor[1][0]
            if uuid == 0:
                expect(descriptor[19] == [1], "the root says nothing")
                continue
            expect(uuid not in tracks and uuid not in processes, "a track is described twice")
            if descriptor[3]:
                processes[uuid] = message(descriptor[3][0])[1][0]
            else:
                expect(descriptor[5][0] in processes, "the parent is not described yet")
                tracks[uuid] = (processes.get(descriptor[5][0]), descriptor[2][0].decode(), bool(descriptor[8]))
        for event in map(message, packet[11]):
            expect(event[11][0] in tracks, "an event on a track that is not described yet")
            events.append((packet[8][0], len(events), event, sequence))
    events.sort(key=lambda e: e[:2])  # as Perfetto sorts: by time, then as written
    slices, values, opened = [], [], defaultdict(list)
    for at, _, event, sequence in events:
        uuid, kind = event[11][0], event[9][0]
        process, track, counts = tracks[uuid]
        expect(counts == (kind == 4), "values and slices on one track")
        if kind == 4:
            values.append((process, at, signed(event[30][0])))
        elif kind == 1:
            arguments = {}
            for annotation in map(message, event[4]):
                value = signed(annotation[4][0]) if annotation[4] else sequence.text(29, annotation[17][0])
                arguments[sequence.text(3, annotation[1][0])] = value
            one = Slice(process, track, sequence.text(2, event[10][0]), sequence.text(1, event[3][0]), at, arguments)
            one.arrows_out, one.arrows_in = event[47], event[48]
            slices.append(one)
            opened[uuid].append(one)
        else:
            expect(opened[uuid], "an end without a beginning")
            if opened[uuid]:
                opened[uuid].pop().end = at
    expect(not any(opened.values()), "a slice is not ended")
    return slices, values


def check_tracks(slices):
    by_track = defaultdict(list)
    for one in slices:
        by_track[one.process, one.track].append(one)
    for track, row in by_track.items():
        opened = []
        for one in row:
            while opened and opened[-1].end <= one.start:
                opened.pop()
            expect(not opened or one.end <= opened[-1].end, f"{track}: {one.name} overlaps {opened and opened[-1].name}")
            opened.append(one)


def check_arrows(slices):
    begins = {arrow: one for one in slices for arrow in one.arrows_out}
    ends = {arrow: one for one in slices for arrow in one.arrows_in}
    expect(len(begins) == sum(len(one.arrows_out) for one in slices), "an arrow begins twice")
    expect(begins.keys() == ends.keys(), "an arrow without a beginning or an end")
    for arrow in begins.keys() & ends.keys():
        expect(begins[arrow].start <= ends[arrow].start, "an arrow points back in time")
    between = [(begins[a], ends[a]) for a in begins if begins[a].category == "lateness"]
    for late, transfer in between:
        expect(transfer.name == "transfer" and late.process != transfer.process, "an arrow between ranks ends wrongly")
    return len(between)


def rows_of_traces(paths):
    """How many rows of each category the traces have."""
    counts = Counter()
    for path in paths:
        with (gzip.open if path.endswith(".gz") else open)(path) as file:
            events = json.load(file)["traceEvents"]
        rows = [e for e in events if e.get("ph") == "X"]
        gpu = [e for e in rows if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")]
        launched = {e["args"]["correlation"] for e in gpu}
        counts["gpu"] += len(gpu)
        counts["launches"] += sum(
            e["cat"] in ("cuda_runtime", "cuda_driver") and e["args"].get("correlation") in launched for e in rows)
        counts["annotations"] += sum(e["cat"] in ("user_annotation", "gpu_user_annotation") for e in rows)
        counts["operators"] += sum(e["cat"] == "cpu_op" for e in rows)
        counts["steps"] += sum(e["cat"] == "user_annotation" and e["name"].startswith("ProfilerStep#") for e in rows)
    return counts


def rows_of_merged(slices):
    of = {"compute": "gpu", "communication": "gpu", "memcpy": "gpu", "memset": "gpu", "launch": "launches",
          "user_annotation": "annotations", "gpu_user_annotation": "annotations", "cpu_op": "operators", "step": "steps"}
    return Counter(of[one.category] for one in slices if one.category in of)


def check_report(slices, values, report):
    with open(report + "/report.json") as file:
        zero = json.load(file)["job"]["window_start_ns"]
    calls = {(one.arguments["instance"], one.process % SESSION): one
             for one in slices if one.category == "communication" and "instance" in one.arguments}
    parts = {(one.process, one.track, one.name, one.start): one for one in slices if one.category == "part"}
    with open(report + "/tables/collective_ranks.csv") as file:
        table = list(csv.DictReader(file))
    expect(len(calls) == len(table), f"{len(calls)} calls, {len(table)} in the report")
    waiting, first = 0, {}
    for row in table:
        start = int(row["start_ns"])
        first[row["instance"]] = min(start, first.get(row["instance"], start))
    lateness = Counter(values)
    for row in table:
        call = calls[int(row["instance"]), int(row["rank"])]
        place = f"instance {row['instance']} rank {row['rank']}"
        start, end = zero + int(row["start_ns"]), zero + int(row["end_ns"])
        expect((call.start, call.end) == (start, end), f"{place}: lies elsewhere")
        if not row["wait_ns"]:
            continue
        wait, transfer = int(row["wait_ns"]), int(row["transfer_ns"])
        waiting += wait > 0
        shown = parts.get((call.process, call.track, "wait", start))
        expect((shown.end - shown.start if shown else 0) == wait, f"{place}: another wait")
        shown = parts.get((call.process, call.track, "transfer", start + wait))
        expect(shown and shown.end - shown.start == transfer, f"{place}: another transfer")
        expect(lateness[call.process, start, int(row["start_ns"]) - first[row["instance"]]] > 0, f"{place}: other lateness")
    return waiting


def main():
    merged, report, traces = sys.argv[1], sys.argv[2], sys.argv[3:]
    slices, values = read_json(merged) if merged.endswith(".json.gz") else read_pftrace(merged)
    check_tracks(slices)
    arrows = check_arrows(slices)
    expect(rows_of_merged(slices) == rows_of_traces(traces),
           f"rows merged {rows_of_merged(slices)}, rows of the traces {rows_of_traces(traces)}")
    waiting = check_report(slices, values, report)
    expect(arrows == waiting, f"{arrows} arrows for {waiting} waits")
    expect(waiting > 0, "nobody waits: nothing is tested")
    print("\n".join(ERRORS), end="")
    return 1 if ERRORS else 0


if __name__ == "__main__":
    sys.exit(main())
