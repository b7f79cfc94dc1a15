#!/usr/bin/env python3
"""Five questions to the reports of skewscope. A script, and a notebook: editors take `# %%` for the beginning of a cell.

usage: report_example.py DIR...     report directories of jobs, or folders of them; default: skewscope-report

The first report is the one that is looked at; several jobs answer question 3, and the first and the last one question 5.
Figures that a report does not have are said to be absent. In a notebook, put the directories into `folders` by hand.
"""
# %% The reports. skewscope_report.py lies next to this file.
import sys
from collections import defaultdict
from statistics import mean

from skewscope_report import ReportError, Reports, find_reports

folders = sys.argv[1:] or ["skewscope-report"]
try:
    reports = Reports(dict.fromkeys(path for folder in folders for path in find_reports(folder)))  # each once
except ReportError as error:
    sys.exit(f"report_example: {error}")
report = list(reports)[0]


def ms(time_ns):
    return "-" if time_ns is None else f"{time_ns / 1e6:.2f} ms"


def percent(share):
    return "-" if share is None else f"{100 * share:.0f} %"


def ratio(part, whole):
    return part / whole if whole else None


def show(rows, **columns):
    """Prints a small table: a heading per column, and what of a row it shows."""
    cells = [[heading.replace("_", " ") for heading in columns]]
    cells += [[str("-" if (value := of(row)) is None else value) for of in columns.values()] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    for line in cells:
        print("  " + "  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())


# %% 1. Who is slow, and what does it cost?
print(f"1. Who is slow in {report.name}, and what does it cost?")
print(f"  {report.verdict['sentence']} ({report.verdict['severity']}, confidence {report.verdict['confidence']})")
late = [row for row in report.stragglers if row["wait_originated_ns"] > 0][:5]
if late:
    show(late, rank=lambda row: row["rank"], waiting_caused=lambda row: ms(row["wait_originated_ns"]),
         why=lambda row: row["cause"], standing=lambda row: row["standing"],
         saved=lambda row: ms(row["saved_ns"]) + (" or more" if row["saved_at_least"] else ""))
elif report.job["ranks_missing"]:
    print(f"  not known: {len(report.job['ranks_missing'])} ranks are missing, and no waiting shows among those present")
else:
    print("  nobody: no waiting shows")
for loss in report.losses:
    print(f"  {loss['kind']}: {loss['bound'].replace('_', ' ')} {percent(loss['gain_share'])} of the job. {loss['next']}")

# %% 2. How much communication is hidden behind computing, per operation?
print(f"2. How much communication of {report.name} is hidden, per operation?")
operations = defaultdict(lambda: defaultdict(int))
unknown = set()  # operations of which some time cannot be told
for row in report.table("overlap"):
    key = (row["group_kind"], row["op"])
    operations[key]["time"] += row["time_ns"]
    operations[key]["exposed transfer"] += row["exposed_transfer_ns"]
    operations[key]["exposed unsplit"] += row["exposed_unattributed_ns"]
    if row["hidden_ns"] is None:
        unknown.add(key)
    else:
        operations[key]["hidden"] += row["hidden_ns"]
if operations:
    show(sorted(operations.items(), key=lambda item: -item[1]["exposed transfer"]),
         group=lambda item: item[0][0], operation=lambda item: item[0][1], time=lambda item: ms(item[1]["time"]),
         hidden=lambda item: None if item[0] in unknown else percent(ratio(item[1]["hidden"], item[1]["time"])),
         exposed_transfer=lambda item: ms(item[1]["exposed transfer"]),
         exposed_but_not_split=lambda item: ms(item[1]["exposed unsplit"]))
    if unknown:
        print("  -: the traces have no GPU rows, so nobody knows what computing hides")
else:
    print("  the report holds no communication")

# %% 3. Which node is the worst, over several jobs?
print(f"3. Which node is the worst, over {len(reports)} jobs?")
waiting = {(row["job"], row["host"]): row["wait_ns"] for row in reports.joined(
    """SELECT job, host, sum(wait_originated_ns) AS wait_ns FROM stragglers JOIN ranks USING (job, rank) GROUP BY job, host""")}
whole = {job: sum(ns for (of, _), ns in waiting.items() if of == job) for job in reports.names}
nodes = defaultdict(list)  # the node's share of the waiting that others did, in each of its jobs
for (job, host), time_ns in waiting.items():
    if host is not None and whole[job] > 0:
        nodes[host].append(time_ns / whole[job])
without = [job for job in reports.names if all(host is None for (of, host) in waiting if of == job)]
if nodes:
    show(sorted(nodes.items(), key=lambda item: -mean(item[1]))[:10], node=lambda item: item[0],
         jobs=lambda item: len(item[1]), share_of_waiting_caused=lambda item: percent(mean(item[1])))
if without:
    print(f"  not known, since the traces name no host: {', '.join(without)}")

# %% 4. Is the all-to-all imbalanced?
print(f"4. Is the all-to-all of {report.name} imbalanced?")
groups = report.table("all_to_all_groups")
if groups:
    show(groups, group=lambda row: row["communicator"], calls=lambda row: row["calls"],
         busiest_rank=lambda row: row["busiest_rank"], receives=lambda row: percent(row["busiest_share"]),
         in_means=lambda row: None if row["imbalance"] is None else f"{row['imbalance']:.2f}",
         waiting_for_it=lambda row: ms(row["waited_for_busiest_ns"]))
    if any(row["imbalance"] is None for row in groups):
        print("  -: the traces do not tell how much was received")
else:
    print("  it has none, or none that was matched")

# %% 5. What changed between two runs?
print("5. What changed between two runs?")
base, new = list(reports)[0], list(reports)[-1]


def shares(one):
    """Where the time of all GPUs went, as shares."""
    total = sum(row["total_ns"] for row in one.ranks)
    parts = ("compute_ns", "exposed_wait_ns", "exposed_transfer_ns", "idle_ns")
    return {part: ratio(sum(row[part] for row in one.ranks), total) for part in parts}


if base is new:
    print("  one report was given; give two")
else:
    lengths = [mean(step["duration_ns"] for step in one.steps) if one.steps else None for one in (base, new)]
    rows = [("mean step", *map(ms, lengths))]
    rows += [(part.replace("_ns", " share").replace("_", " "), percent(before), percent(shares(new)[part]))
             for part, before in shares(base).items()]
    names = dict(zip(map(id, reports), reports.names))
    print(f"  base: {names[id(base)]}\n  new:  {names[id(new)]}")
    show(rows, figure=lambda row: row[0], base=lambda row: row[1], new=lambda row: row[2])
    print(f"  Which change is more than chance: skewscope compare {base.path} {new.path}")
