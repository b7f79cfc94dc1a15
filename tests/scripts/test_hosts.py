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

    def test_the_batch_script_of_slurm_has_each_agent_name_its_node(self):
        """configs/slurm/train.sbatch with commands of Slurm that do what it asks for on two nodes, one after the other."""
        commands = self.folder / "bin"
        commands.mkdir()
        (commands / "srun").write_text("""#!/bin/bash
while [[ $1 == --* ]]; do shift; done
for SLURMD_NODENAME in gpu-1 gpu-2; do export SLURMD_NODENAME; "$@" || exit; done
""")
        (commands / "skewscope").write_text(f"#!/bin/bash\nprintf '%s ' \"$@\" >>{self.folder}/agents\necho >>{self.folder}/agents\n")
        (commands / "python3").write_text(f"#!/bin/bash\necho $TORCH_FR_DUMP_TEMP_FILE >>{self.folder}/dumps\n")
        (commands / "mkdir").write_text("#!/bin/bash\n")  # not in the machine's own /tmp
        for command in commands.iterdir():
            command.chmod(0o755)
        (self.folder / ".skewscope-token-cluster-7.0").write_text("token")
        environment = {"PATH": f"{commands}:/usr/bin:/bin", "HOME": str(self.folder), "SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "2"}
        subprocess.run(["bash", ROOT / "configs/slurm/train.sbatch", "train.py"], env=environment, check=True)
        agents = (self.folder / "agents").read_text().splitlines()
        self.assertEqual([re.search(r"--host (\S+)", agent)[1] for agent in agents], ["gpu-1", "gpu-2"])
        self.assertTrue(all(agent.startswith("ship /tmp/skewscope-cluster-7.0 --to https://") for agent in agents), agents)
        self.assertFalse((self.folder / ".skewscope-token-cluster-7.0").exists())
        self.assertEqual((self.folder / "dumps").read_text().split(), ["/tmp/skewscope-cluster-7.0/dump_"] * 2)


if __name__ == "__main__":
    unittest.main()
