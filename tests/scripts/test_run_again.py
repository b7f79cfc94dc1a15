#!/usr/bin/env python3
"""Which tests .ci/run may run twice."""
import importlib.machinery
import importlib.util
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("run_again", str(ROOT / ".ci" / "run_again"))
run_again = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_again", loader))
loader.exec_module(run_again)

LIST = "Budget: 2 in one run.\n\n| names | why |\n|---|---|\n| `cluster/` | namespaces |\n| `ship/an agent` | time |\n"


class RunAgain(unittest.TestCase):
    def test_listed_tests_are_run_again_up_to_the_budget(self):
        self.assertIsNone(run_again.refusal(["cluster/mpirun", "ship/an agent waits"], LIST))
        self.assertIn("3 tests failed, 2 may", run_again.refusal(["cluster/a", "cluster/b", "cluster/c"], LIST))

    def test_a_test_that_is_not_listed_is_not_run_again(self):
        self.assertIn("ingest/a cut file", run_again.refusal(["cluster/a", "ingest/a cut file"], LIST))

    def test_the_list_of_this_tree_names_no_folder_of_unit_tests(self):
        _, beginnings = run_again.allowed(run_again.TABLE.read_text())
        self.assertTrue(beginnings)
        for stage in ("base", "ingest", "matching", "align", "attribute", "blame", "report", "gather", "ship", "jobs"):
            self.assertFalse(f"{stage}/a sentence".startswith(beginnings), stage)


if __name__ == "__main__":
    unittest.main()
