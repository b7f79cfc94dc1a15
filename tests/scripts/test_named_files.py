#!/usr/bin/env python3
"""Every file that a comment or README names exists, and every source of a folder of src stands in its README."""
import fnmatch
import re
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (".ci", ".github", "collectives", "configs", "include", "scripts", "src", "tests")
LEFT_OUT = {"build", "node_modules", "__pycache__"}
SOURCES = (".cc", ".h")

# What a comment names of other programs and their documents.
OUTSIDE = {"c10/core/ScalarType.h", "torch/_dynamo/utils.py", "torch/utils/checkpoint.py",  # of PyTorch
           "doc/PERFORMANCE.md", "PERFORMANCE.md",  # of nccl-tests
           "linux/posix_acl_xattr.h",
           "report.sql"}  # a method of Report in skewscope_report.py

# A path or name with the suffix of a source or a document: "src/report/rows/losses.cc", "KINETO.md", "page/README.md".
FILE = re.compile(r"(?<![\w./*<>{}$~-])((?:[\w.-]+/)*[\w-]+\.(?:md|h|cc|py|js|mjs|sql|cmake))(?![\w/*<{-]|\.\w)")
# "KINETO.md, section 3", "sections 4 to 6", "sections 7 and 8"; perhaps with the name in quotes.
SECTION = re.compile(r"([\w./-]+\.md)\)?`?,? sections? (\d+)(?: (?:to|and) (\d+))?")
# In READMEs: a path below a folder at the top, whose suffix may be left out, `collectives/matcher`.
QUOTED = re.compile(r"`([^`\s]+)`")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
FILE_TABLE = re.compile(r"^\| file \|.*\n(?:\|.*\n)+", re.MULTILINE)
PYTHON_TEXT = re.compile(r'"""(.*?)"""', re.DOTALL)


def files_of(root):
    """All files below the folders of the tree, and those at the top."""
    found = [file for file in root.iterdir() if file.is_file()]
    for folder in FOLDERS:
        found += [file for file in (root / folder).rglob("*") if file.is_file()]
    return sorted(file.relative_to(root) for file in found if not LEFT_OUT & set(file.relative_to(root).parts))


def is_script(file):
    with open(file, "rb") as opened:
        return opened.read(2) == b"#!"


def prose_of(file):
    """What people read of a file: a document whole, comments of a source; "" of data."""
    suffix = file.suffix
    if suffix == ".md":
        return file.read_text()
    if suffix in (".cc", ".h", ".js", ".mjs"):
        lines = (re.search(r"(?<!:)//(.*)", line) for line in file.read_text().splitlines())
    elif suffix in (".py", ".cmake") or file.name == "CMakeLists.txt" or (not suffix and is_script(file)):
        text = file.read_text()
        lines = [re.search(r"(?:^|\s)#(.*)", line) for line in text.splitlines()]
        return "\n".join([*PYTHON_TEXT.findall(text), *(line[1] for line in lines if line)])
    else:
        return ""
    return "\n".join(line[1] for line in lines if line)


class Tree:
    def __init__(self, root):
        self.root = Path(root)
        self.files = files_of(self.root)
        self.ends = set()  # every path, and every end of one
        for file in self.files:
            for path in (file, file.with_suffix("")):
                self.ends |= {"/".join(path.parts[i:]) for i in range(len(path.parts))}
        self.folders = {parent.as_posix() for file in self.files for parent in file.parents}

    def has(self, name, document):
        """Whether `name` is a file of the tree, as written from its root, from `document` or by the end of its path."""
        name = name.rstrip("/").removeprefix("./")
        beside = (self.root / document.parent / name).resolve()
        return name in self.ends or name in self.folders or beside.exists()

    def sections_of(self, name, document):
        beside = [file for file in self.files if file == document.parent / name]
        files = beside or [file for file in self.files if f"/{file.as_posix()}".endswith(f"/{name}")]
        headings = [re.findall(r"^## (\d+)\. ", (self.root / file).read_text(), re.MULTILINE) for file in files]
        return {int(number) for numbers in headings for number in numbers}


def named_in(prose, is_document):
    """Names of files, and in documents paths below a folder at the top."""
    for match in FILE.finditer(prose):
        yield match[1]
    if not is_document:
        return
    for link in LINK.findall(prose):
        yield link
    for quoted in QUOTED.findall(prose):
        path = re.fullmatch(r"((?:[\w.-]+/)+[\w.-]*)", quoted)
        if path and quoted.split("/")[0] in FOLDERS:
            yield quoted


def missing_files(root):
    """"document: names FILE, which is not there" for each."""
    tree = Tree(root)
    errors = []
    for file in tree.files:
        prose = prose_of(tree.root / file)
        for name in sorted(set(named_in(prose, file.suffix == ".md")) - OUTSIDE):
            if not tree.has(name, file):
                errors.append(f"{file}: names {name}, which is not in the tree")
        for name, first, last in SECTION.findall(re.sub(r"\s+", " ", prose)):
            sections = tree.sections_of(name, file)
            wanted = range(int(first), int(last or first) + 1)
            errors += [f"{file}: names section {n} of {name}, which has none" for n in wanted if n not in sections]
    return errors


def readme_over(root, folder):
    """The README of a folder of src; of one inside, its own or the next one above."""
    while len(folder.parts) > 2 and not (root / folder / "README.md").exists():
        folder = folder.parent
    return Path(root, folder, "README.md")


def unlisted_sources(root):
    """Sources in folders of src whose README does not name them, by stem, whole or as a pattern (`*_command`)."""
    errors = []
    for folder in sorted({file.parent for file in (Path(root) / "src").rglob("*") if file.suffix in SOURCES}):
        path = folder.relative_to(root)
        readme = readme_over(root, path)
        if not readme.exists():
            errors.append(f"{path}: has no README.md")
            continue
        names = [name.rsplit("/", 1)[-1] for name in QUOTED.findall(readme.read_text())]
        listed = {name.removesuffix(".cc").removesuffix(".h") for name in names}
        stems = sorted({file.stem for file in folder.iterdir() if file.suffix in SOURCES})
        errors += [f"{readme.relative_to(root)}: does not name {stem}" for stem in stems
                   if not any(fnmatch.fnmatch(stem, name) for name in listed)]
    return errors


def listed_in_vain(root):
    """Names in the first column of a README's table of files that no file of the tree has."""
    stems = {file.stem for file in files_of(Path(root))}
    errors = []
    for readme in sorted((Path(root) / "src").rglob("README.md")):
        for table in FILE_TABLE.findall(readme.read_text()):
            names = [name for row in table.splitlines()[2:] for name in re.findall(r"`([\w*]+)`", row.split("|")[1])]
            errors += [f"{readme.relative_to(root)}: lists {name}, which is not in the tree" for name in names
                       if not any(fnmatch.fnmatch(stem, name) for stem in stems)]
    return errors


def errors_of(check, files):
    """What a check says of a tree of {path: text}."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            file = Path(root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return check(Path(root))


class MissingFiles(unittest.TestCase):
    def assert_missing(self, names, path, text):
        """The file `path` names these and no others that are not there."""
        tree = {"src/align/METHOD.md": "# Method\n\n## 1. Clocks\n\n## 2. Ends\n", "src/align/fit.h": "",
                "scripts/run": "#!/bin/sh\n"}
        errors = errors_of(missing_files, tree | {path: text})
        self.assertEqual([error.split(": ", 1) for error in errors], [[path, error] for error in names])

    def gone(self, *names):
        return [f"names {name}, which is not in the tree" for name in names]

    def test_a_comment_that_names_a_document_outside_is_caught(self):
        self.assert_missing(self.gone("clocks.md"), "src/blame/why.h", "// As clocks.md says.\n")

    def test_a_comment_that_names_a_source_that_was_renamed_is_caught(self):
        self.assert_missing(self.gone("old_fit.h"), "src/align/bars.cc", "int a;  // see old_fit.h\n// and fit.h\n")

    def test_a_path_must_lead_there_and_not_only_end_like_one(self):
        self.assert_missing(self.gone("src/blame/fit.h"), "README.md", "See `src/blame/fit.h` and `src/align/fit.h`.\n")

    def test_a_script_and_a_python_docstring_are_read(self):
        self.assert_missing(self.gone("gone.py"), "scripts/walk", "#!/usr/bin/env python3\n# as gone.py\n")
        quotes = '"' * 3
        self.assert_missing(self.gone("lost.md"), "scripts/walk.py", f"{quotes}Walks.\n\nSee lost.md.{quotes}\n")

    def test_a_link_and_a_path_without_suffix_in_a_readme_are_followed(self):
        self.assert_missing(self.gone("guide.txt", "scripts/walk"), "README.md",
                            "[guide](guide.txt), `scripts/walk`, `scripts/run`, `src/align/fit`, "
                            "[method](src/align/METHOD.md)\n")

    def test_a_section_that_a_document_does_not_have_is_caught(self):
        self.assert_missing(["names section 3 of METHOD.md, which has none"], "src/align/bars.h",
                            "// Source: METHOD.md, sections 2\n// to 3, and METHOD.md, section 1.\n")

    def test_code_outputs_and_addresses_are_not_names_of_files(self):
        self.assert_missing([], "src/align/bars.cc",
                            '#include "other.h"\nconst char* a = "b.h";\n'
                            "// https://example.org/c.md, report.json, d/*.h, <e>.cc\n")

    def test_each_file_named_in_this_tree_exists(self):
        self.assertEqual(missing_files(ROOT), [])


class UnlistedSources(unittest.TestCase):
    def test_a_source_that_its_readme_does_not_name_is_caught(self):
        errors = errors_of(unlisted_sources, {"src/align/README.md": "| `fit` | fits |\n", "src/align/fit.cc": "",
                                              "src/align/fit.h": "", "src/align/fitting.cc": ""})
        self.assertEqual(errors, ["src/align/README.md: does not name fitting"])

    def test_a_name_a_path_a_suffix_and_a_pattern_list_a_source(self):
        errors = errors_of(unlisted_sources, {"src/cli/README.md": "`main.cc`, `src/cli/flags`, `*_command`\n",
                                              "src/cli/main.cc": "", "src/cli/flags.h": "",
                                              "src/cli/rank_command.cc": ""})
        self.assertEqual(errors, [])

    def test_a_folder_inside_may_be_listed_in_the_readme_above(self):
        errors = errors_of(unlisted_sources, {"src/cli/README.md": "`exchange`\n", "src/cli/mpi/exchange.cc": "",
                                              "src/cli/mpi/rest.cc": ""})
        self.assertEqual(errors, ["src/cli/README.md: does not name rest"])

    def test_a_folder_without_a_readme_is_caught(self):
        self.assertEqual(errors_of(unlisted_sources, {"src/align/fit.cc": ""}), ["src/align: has no README.md"])

    def test_a_name_in_a_table_of_files_that_no_file_has_is_caught(self):
        table = "| file | says |\n|---|---|\n| `fit`, `gone` | `a_field` of it |\n"
        errors = errors_of(listed_in_vain, {"src/align/README.md": table, "src/align/fit.cc": ""})
        self.assertEqual(errors, ["src/align/README.md: lists gone, which is not in the tree"])

    def test_each_source_stands_in_the_readme_of_its_folder(self):
        self.assertEqual(unlisted_sources(ROOT), [])
        self.assertEqual(listed_in_vain(ROOT), [])


if __name__ == "__main__":
    unittest.main()
