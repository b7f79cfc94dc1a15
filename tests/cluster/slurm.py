#!/usr/bin/env python3
"""configs/slurm/report.sbatch under Slurm (slurm_cluster.py): one process on each node reads the files beside it, and the
report is the one of a process that has them all.
usage: slurm.py SKEWSCOPE-MPI"""
import os
from pathlib import Path

import machines
import slurm_cluster

SCRIPT = Path(__file__).resolve().parents[2] / "configs/slurm/report.sbatch"


class UnderSlurm(slurm_cluster.SlurmCluster):
    def test_the_batch_script_reports_on_what_lies_on_two_nodes(self):
        os.environ["OMPI_MCA_btl_tcp_if_include"] = "10.78.0.0/24"
        self.await_nodes()
        self.assertEqual(sorted(self.run_in_first("srun", "-N2", "hostname")[1].split()), sorted(machines.NAMES))
        code, text = self.run_in_first("sbatch", "--wait", "--nodes=2", "--output=job.log", SCRIPT,
                                       "traces", "slurm")
        self.assertEqual(code, 0, text + self.logs())
        self.assertIn("Rank 5 causes", (self.folder / "job.log").read_text())
        self.assertEqual(self.bytes_of("slurm"), self.bytes_of("alone"))


if __name__ == "__main__":
    machines.main(*slurm_cluster.PROGRAMS)
