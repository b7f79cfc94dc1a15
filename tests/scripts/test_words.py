#!/usr/bin/env python3
"""Messages are in the field's own words: none that the program can print contains a word of RETIRED.

Read as text: every string of src, collectives and include that has a blank in it, those of the page, and the advice of
configs/rank_rules.json. With the program as an argument, what its commands say of simulated jobs, too."""
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else ""

# What a message must not contain -> what it says instead.
RETIRED = {
    r"\bwait(s|ing)? began\b|\bbegan with (it|them|rank)\b": "rank 3 causes 36 % of all waiting",
    r"\bpace\b": "as fast as its peers",
    r"\btold apart\b|\btells? \w* ?apart\b": "could not be split, could not be separated",
    r"\btied\b|\bties? (the|their|them|no|ranks'?|clocks)\b": "aligned",
    r"\berror bars?\b|\bbars (cover|leave)\b": "uncertainty",
    r"\bstands? out\b": "is a clear straggler, differs",
    r"\bstands? (still|twice|whole|before|behind|where)\b": "is, is idle",
    r"\b(is|are) the (cause|suspect)\b": "causes, probably causes",
    r"\bcharged directly\b|\bcharged to\b|\bcounts? as late for\b": "causes",
    r"\b(tells|told)\b|\bdoes not tell\b": "shows, says, is not known",
    r"-[<>]\d|-0 %|\+-0\b": "under 1 % less",
    r"\+- ?[\d{]|±\d": "uncertainty, within",
    r"\bof it (is|are|in|behind|\d)|(^|[,;.] )of it\b": "name it",
    r"\bwhat if\b": "simulated",
    r"\bmade up\b": "treated as",
    r"\bin place of\b": "instead of",
    r"\bbesides?\b": "also, next to, during",
    r"\bproven to\b|\bprove (one|the group|none)\b": "show",
    r"\bto wish for\b|\bdo not blame\b|\bbegin there\b|\btoo little to name\b": "good, ignore, optimize first, other",
    r"\blies? (apart|beside|behind|as recorded|(far|furthest) apart)\b": "is",
    r"\bhangs on\b|\bof theirs\b|\bbeyond theirs\b": "depends on",
    r"(?-i:(?:^|[.:;] )Of (?!course))": "a sentence that begins with its subject",
}
PATTERNS = [(re.compile(words, re.IGNORECASE), instead) for words, instead in RETIRED.items()]

# Strings and what stands between them, in C++ and JavaScript.
CPP = re.compile(r"""//[^\n]*|/\*.*?\*/|\#include[^\n]*|R"(\w*)\((?P<raw>.*?)\)\1"|"(?P<text>(?:\\.|[^"\\\n])*)"|"""
                 r"""'(?:\\.|[^'\\\n])+'|(?P<blank>\s+)|.""", re.DOTALL)
SCRIPT = re.compile(r"""//[^\n]*|"(?P<double>(?:\\.|[^"\\\n])*)"|`(?P<template>(?:\\.|[^`\\])*)`""", re.DOTALL)


def texts_of_cpp(source):
    """(line, text) of each string; neighbours are one, as the compiler has it."""
    line, start, text = 1, 1, None
    for token in CPP.finditer(source):
        part = token["text"] if token["text"] is not None else token["raw"]
        if part is not None:
            start, text = (line, part) if text is None else (start, text + part)
        elif not token["blank"] and not token[0].startswith(("//", "/*")):
            if text is not None:
                yield start, text
            text = None
        line += token[0].count("\n")
    if text is not None:
        yield start, text


def texts_of_script(source):
    for token in SCRIPT.finditer(source):
        text = token["double"] if token["double"] is not None else token["template"]
        if text is not None:
            yield source.count("\n", 0, token.start()) + 1, text


def retired_in(text):
    return [f"'{found[0]}' (say: {instead})" for words, instead in PATTERNS if (found := words.search(text))]


def faults_of(place, texts):
    return [f"{place}:{line}: {', '.join(found)} in: {text[:160]}" for line, text in texts
            if " " in text.strip() and (found := retired_in(text))]


class Words(unittest.TestCase):
    maxDiff = None

    def check(self, faults):
        self.assertEqual(faults, [], "\n" + "\n".join(faults))

    def test_no_message_of_the_program_has_a_retired_word(self):
        faults = []
        for folder in ("src", "collectives", "include"):
            for file in sorted((ROOT / folder).rglob("*")):
                if file.suffix in (".cc", ".h"):
                    faults += faults_of(file.relative_to(ROOT), texts_of_cpp(file.read_text()))
        self.check(faults)

    def test_no_text_of_the_page_has_a_retired_word(self):
        faults = []
        for file in sorted((ROOT / "src/report/page").glob("*.js")):
            faults += faults_of(file.relative_to(ROOT), texts_of_script(file.read_text()))
        self.check(faults)

    def test_no_advice_on_one_gpu_has_a_retired_word(self):
        rules = json.loads((ROOT / "configs/rank_rules.json").read_text())["rules"]
        texts = [(rule["code"], text) for rule in rules
                 for text in (rule["meaning"], rule["action"], *rule.get("actions", {}).values())]
        self.check(faults_of("configs/rank_rules.json", texts))

    def test_a_retired_word_is_found(self):
        self.assertTrue(retired_in("36 % of the wait began with it"))
        self.assertTrue(retired_in("no transfer time: -<1 %"))
        self.assertTrue(retired_in("Of several jobs, one"))
        self.assertFalse(retired_in("Rank 3 causes 36 % of all waiting."))
        source = 'f("waiting and transfer were not "  // why\n  "told apart", "pace");'
        self.assertEqual(list(texts_of_cpp(source)), [(1, "waiting and transfer were not told apart"), (2, "pace")])
        self.assertEqual(list(texts_of_script('a("x", `at their ${p} pace`)')), [(1, "x"), (1, "at their ${p} pace")])


@unittest.skipUnless(PROGRAM, "no program was named")
class Output(unittest.TestCase):
    """Jobs whose reports say much: a slow rank, a pipeline, lost kernels, missing ranks, launch-bound, CPU, experts."""
    JOBS = {
        "slow": "--nodes 4 --gpus 4 --tp 4 --slow-rank 5:1.3 --clock-offset-ms 50",
        "small": "--nodes 2 --gpus 4 --tp 4 --slow-rank 5:1.1",
        "pipeline": "--nodes 2 --gpus 4 --tp 2 --pp 4 --micro-batches 4",
        "lost": "--nodes 2 --gpus 4 --tp 4 --lost-kernels 0.02 --missing-rank 3 --host-gap 5:4",
        "launch": "--nodes 1 --gpus 4 --tp 1 --launch-factor 10 --layer-compute-ns 50000 --slow-host 1:2",
        "cpu": "--nodes 2 --gpus 2 --tp 2 --vendor cpu",
        "experts": "--nodes 2 --gpus 4 --tp 1 --experts 2 --busy-expert 3:2",
    }

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.at = Path(cls.folder.name)
        for name, options in cls.JOBS.items():
            cls.say("simulate", "-o", cls.at / name, "--steps", "4", *options.split())
            cls.say("report", cls.at / name, "-o", cls.at / f"{name}.report")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def say(cls, *arguments):
        """What a command prints, on both streams."""
        done = subprocess.run([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False, env={"SKEWSCOPE_CACHE": "off", "COLUMNS": "100"})
        return done.stdout

    def check(self, name, text):
        faults = faults_of(name, enumerate(text.replace(str(self.at), "").split("\n"), 1))
        self.assertEqual(faults, [], "\n" + "\n".join(faults))

    def test_no_report_says_a_retired_word(self):
        for name in self.JOBS:
            self.check(f"report of {name}", (self.at / f"{name}.report/summary.txt").read_text())
            for finding in json.loads((self.at / f"{name}.report/diagnostics.json").read_text())["diagnostics"]:
                self.check(f"finding of {name}", finding["message"])

    def test_no_other_command_says_a_retired_word(self):
        rank0 = sorted((self.at / "slow").glob("*rank0*"))[0]
        for command in (["scale", self.at / "small.report", self.at / "slow.report", "-o", self.at / "scale"],
                        ["compare", self.at / "small.report", self.at / "pipeline.report", "-o", self.at / "compare"],
                        ["rank", rank0], ["inspect", self.at / "lost"],
                        ["merge", self.at / "slow", "-o", self.at / "merged.pftrace"]):
            with self.subTest(command[0]):
                self.check(command[0], self.say(*command))


if __name__ == "__main__":
    unittest.main()
