#!/usr/bin/env python3
"""Where the host of a rank comes from: names of files, a map, a digest. Recorded traces that do not tell it. usage: SKEWSCOPE"""
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 and os.path.exists(sys.argv[1]) else None
TRACES = {int(re.search(r"rank(\d)", path.name)[1]): path for path in (ROOT / "tests/data/real/gloo").glob("*.json.gz")}
NODES = {0: "node0", 1: "node0", 2: "node1", 3: "node1"}


@unittest.skipIf(PROGRAM is None, "no skewscope given")
class Hosts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def put(self, name_of):
        """The recorded traces under names that `name_of(rank)` gives."""
        traces = self.folder / "traces"
        traces.mkdir()
        for rank, path in TRACES.items():
            (traces / name_of(rank)).symlink_to(path)
        return traces

    def report(self, traces, *options):
        done = subprocess.run([PROGRAM, "report", traces, "--json", "--cache", "off", "-q", *map(str, options)],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def assert_on_nodes(self, report):
        self.assertEqual({row["rank"]: row["host"] for row in report["ranks"]}, NODES)
        self.assertEqual(report["job"]["hosts"], ["node0", "node1"])
        self.assertEqual(report["communicators"][0]["nodes"], 2)
        self.assertNotIn("hosts-unknown", [row["code"] for row in report["diagnostics"]])

    def test_a_report_that_lacks_hosts_says_how_to_give_them(self):
        report = self.report(self.put(lambda rank: f"rank{rank}.json.gz"))
        said = [row for row in report["diagnostics"] if row["code"] == "hosts-unknown"]
        self.assertEqual(len(said), 1)
        for way in ("--rank-map", "path,rank,host", "@node17", "torch_handler.py", "skewscope ship"):
            self.assertIn(way, said[0]["message"])

    def test_the_name_that_the_handler_writes_tells_the_host(self):
        self.assert_on_nodes(self.report(self.put(lambda rank: f"gloo_rank{rank}-of-4@{NODES[rank]}_step4.pt.trace.json.gz")))

    def test_the_name_that_torch_profiler_makes_tells_it_where_the_process_is_that_of_the_trace(self):
        def process_of(rank):
            return re.search(r'"pid": (\d+)', gzip.open(TRACES[rank], "rt").read())[1]
        self.assert_on_nodes(self.report(self.put(
            lambda rank: f"{NODES[rank]}_{process_of(rank)}.169412820154512345{rank}.pt.trace.json.gz")))

    def test_a_map_tells_it_whatever_names_say(self):
        traces = self.put(lambda rank: f"rank{rank}@wrong.json.gz")
        rows = "".join(f"rank{rank}@wrong.json.gz,{rank},{node}\n" for rank, node in NODES.items())
        (self.folder / "map.csv").write_text("path,rank,host\n" + rows)
        self.assert_on_nodes(self.report(traces, "--rank-map", self.folder / "map.csv"))

    def test_a_digest_keeps_the_host_of_its_trace(self):
        traces = self.put(lambda rank: f"rank{rank}@{NODES[rank]}.json.gz")
        digests = self.folder / "digests"
        subprocess.run([PROGRAM, "digest", *sorted(traces.iterdir()), "-o", digests, "-q"], check=True)
        for rank, digest in enumerate(sorted(digests.iterdir())):
            digest.rename(digests / f"{rank}.digest")
        self.assert_on_nodes(self.report(digests))


if __name__ == "__main__":
    unittest.main()
