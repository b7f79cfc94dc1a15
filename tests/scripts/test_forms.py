"""Every test that FORMS.md names for a form exists, and every form has one."""
import re
import unittest
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def test_names():
    """The names of all Catch2 tests, whose literals may stand on several lines."""
    names = set()
    for source in TESTS.rglob("*.cc"):
        for literals in re.findall(r'TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', source.read_text()):
            names.add("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)))
    return names


def forms():
    """What each row of the tables hands over, and the tests that it names."""
    for line in (TESTS / "FORMS.md").read_text().splitlines():
        if line.startswith("| ") and not line.startswith("| form "):
            form, _, tests = line.strip("|").split("|")
            yield form.strip(), re.findall(r'"([^"]*)"', tests)


class Forms(unittest.TestCase):
    def test_every_form_has_a_test_that_exists(self):
        names = test_names()
        for form, tests in forms():
            self.assertTrue(tests, form)
            for test in tests:
                self.assertIn(test, names, form)

    def test_there_are_forms_of_every_kind(self):
        self.assertGreaterEqual(len(list(forms())), 40)


if __name__ == "__main__":
    unittest.main()
