#!/usr/bin/env python3
"""What scripts/release makes of the changelog, and which versions it takes."""
import importlib.machinery
import importlib.util
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("release", str(Path(__file__).resolve().parents[2] / "scripts" / "release"))
release = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", loader))
loader.exec_module(release)


class Release(unittest.TestCase):
    def test_what_is_unreleased_becomes_the_version(self):
        text = "# Changelog\n\n## [Unreleased]\n\n- A figure.\n\n## [0.1.0] - 2026-01-01\n\n- The first.\n"
        self.assertEqual(release.released_changelog(text, "0.2.0", "2026-12-01"),
                         "# Changelog\n\n## [Unreleased]\n\nNothing yet.\n\n## [0.2.0] - 2026-12-01\n\n- A figure.\n\n"
                         "## [0.1.0] - 2026-01-01\n\n- The first.\n")

    def test_a_version_that_waits_for_its_day_gets_it(self):
        text = "## [Unreleased]\n\nNothing yet.\n\n## [0.1.0] - not yet released\n\n- The first.\n"
        self.assertIn("## [0.1.0] - 2026-12-01\n", release.released_changelog(text, "0.1.0", "2026-12-01"))

    def test_nothing_new_is_no_release(self):
        self.assertIsNone(release.released_changelog("## [Unreleased]\n\nNothing yet.\n\n## [0.1.0] - 2026-01-01\n", "0.2.0", "2026-12-01"))

    def test_versions_are_three_numbers_and_compared_as_numbers(self):
        self.assertGreater(release.numbers("0.10.0"), release.numbers("0.9.1"))
        for text in ("1.2", "v1.2.3", "1.2.3-rc1", ""):
            self.assertIsNone(release.numbers(text), text)


if __name__ == "__main__":
    unittest.main()
