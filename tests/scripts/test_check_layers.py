"""check_layers.py catches what it promises to catch. Each test lays a small tree and names the one thing wrong in it."""
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import check_layers  # noqa: E402


def errors_of(files):
    """What check_layers says about a tree of {path: text}."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            file = Path(root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return check_layers.check(root)


def rooms(table):
    """check_layers with these rooms inside layers."""
    return mock.patch.dict(check_layers.INNER, table, clear=True)


PUBLIC = {
    "include/skewscope/base/ids.h": "",
    "include/skewscope/model/job_trace.h": '#include "skewscope/base/ids.h"\n',
    "include/skewscope/align.h": '#include "skewscope/model/job_trace.h"\n',
    "include/skewscope/ingest.h": '#include "skewscope/model/job_trace.h"\n',
    "collectives/kind.h": "",
}


class CheckLayers(unittest.TestCase):
    def assert_caught(self, files, place, words):
        errors = errors_of(PUBLIC | files)
        self.assertEqual(len(errors), 1, errors)
        self.assertTrue(errors[0].startswith(place + ": "), errors[0])
        self.assertIn(words, errors[0])

    def assert_clean(self, files):
        self.assertEqual(errors_of(PUBLIC | files), [])

    def test_a_stage_may_include_rooms_its_own_headers_and_its_tools(self):
        self.assert_clean({
            "src/ingest/reader.h": "",
            "src/ingest/reader.cc": '#include "reader.h"\n#include <simdjson.h>\n#include <vector>\n'
                                    '#include "skewscope/ingest.h"\n#include "collectives/kind.h"\n',
        })

    def test_a_stage_may_not_include_another_stage(self):
        self.assert_caught({"src/align/fit.cc": '\n#include "skewscope/ingest.h"\n'},
                           "src/align/fit.cc:2", "align may not include ingest")

    def test_a_stage_may_not_include_the_private_header_of_another_stage(self):
        self.assert_caught({"src/ingest/reader.h": "", "src/align/fit.cc": '#include "src/ingest/reader.h"\n'},
                           "src/align/fit.cc:1", "align may not include ingest")

    def test_the_story_may_not_include_private_headers(self):
        self.assert_caught({"src/ingest/reader.h": "", "src/correlate.cc": '#include "ingest/reader.h"\n'},
                           "src/correlate.cc:1", "private to ingest")

    def test_a_room_may_not_include_a_stage(self):
        self.assert_caught({"src/model/job_trace.cc": '#include "skewscope/align.h"\n'},
                           "src/model/job_trace.cc:1", "model may not include align")

    def test_a_public_header_may_not_include_a_private_one(self):
        self.assert_caught({"src/report/json.h": "", "include/skewscope/report.h": '#include "../../src/report/json.h"\n'},
                           "include/skewscope/report.h:1", "a public header includes")

    def test_a_public_header_may_not_include_a_third_party(self):
        self.assert_caught({"include/skewscope/report.h": "#include <fmt/format.h>\n"},
                           "include/skewscope/report.h:1", "a public header includes <fmt/format.h>")

    def test_a_library_that_one_layer_hands_on_stays_out_of_the_public_headers_of_others(self):
        self.assert_caught({"include/skewscope/ship.h": "#include <curl/curl.h>\n",
                            "include/skewscope/libcurl/libcurl.h": "#include <curl/curl.h>\n"},
                           "include/skewscope/ship.h:1", "a public header includes <curl/curl.h>")

    def test_the_parser_stays_inside_ingest(self):
        self.assert_caught({"src/matching/match.cc": "#include <simdjson.h>\n"},
                           "src/matching/match.cc:1", "matching may not include <simdjson.h>")

    def test_a_library_may_not_print(self):
        self.assert_caught({"src/report/text.cc": "#include <iostream>\n"},
                           "src/report/text.cc:1", "report may not include <iostream>")

    def test_an_include_that_names_no_file_is_caught(self):
        self.assert_caught({"src/report/text.cc": '#include "skewscope/reprot.h"\n'},
                           "src/report/text.cc:1", "is no file of this project")

    def test_a_test_may_see_the_private_headers_of_its_own_stage_only(self):
        files = {"src/ingest/reader.h": "", "tests/ingest/reader.cc": '#include "src/ingest/reader.h"\n'}
        self.assert_clean(files)
        self.assert_caught(files | {"tests/align/fit.cc": '#include "src/ingest/reader.h"\n'},
                           "tests/align/fit.cc:1", "a test of another folder")

    def test_a_test_may_see_what_all_tests_share_but_not_another_tests_headers(self):
        files = {"tests/job_builder.h": "", "tests/align/fit.cc": '#include "../job_builder.h"\n'}
        self.assert_clean(files)
        self.assert_caught(files | {"tests/report/rows.h": "", "tests/align/a.cc": '#include "../report/rows.h"\n'},
                           "tests/align/a.cc:1", "a test of another folder")

    def test_a_stage_that_is_not_in_the_table_is_caught(self):
        self.assert_caught({"src/guess/guess.cc": ""}, "src/guess/guess.cc:1", "layer guess is not in the table")

    def test_a_room_inside_a_layer_includes_what_its_row_allows_and_the_layer_includes_its_rooms(self):
        files = {"src/ingest/text/cutter.h": "", "src/ingest/rows/row.h": "",
                 "src/ingest/story.cc": '#include "src/ingest/rows/row.h"\n#include "src/ingest/text/cutter.h"\n',
                 "src/ingest/rows/row.cc": '#include "row.h"\n#include "src/ingest/text/cutter.h"\n'}
        with rooms({"ingest/text": set(), "ingest/rows": {"ingest/text"}}):
            self.assert_clean(files)
            self.assert_caught(files | {"src/ingest/text/up.cc": '#include "src/ingest/rows/row.h"\n'},
                               "src/ingest/text/up.cc:1", "ingest/text may not include ingest/rows")
            self.assert_caught(files | {"src/ingest/story.h": "", "src/ingest/text/up.cc": '#include "src/ingest/story.h"\n'},
                               "src/ingest/text/up.cc:1", "ingest/text may not include ingest (")
            self.assert_caught(files | {"src/ingest/attic/box.cc": ""},
                               "src/ingest/attic/box.cc:1", "room ingest/attic is not in the table")

    def test_a_layer_may_not_include_a_room_that_stands_above_it(self):
        files = {"collectives/matcher/matcher.h": '#include "collectives/kind.h"\n'}
        with rooms({"collectives/matcher": {"collectives"}}):
            self.assert_clean(files)
            self.assert_caught(files | {"collectives/rules.cc": '#include "matcher/matcher.h"\n'},
                               "collectives/rules.cc:1", "collectives may not include collectives/matcher")

    def test_a_drawer_is_caught(self):
        self.assert_caught({"src/report/helpers/x.txt": ""}, "src/report/helpers:1", "named for what it holds")

    def test_a_long_source_and_a_long_main_are_caught(self):
        self.assert_clean({"src/report/text.cc": "\n" * 400, "src/cli/main.cc": "\n" * 60, "tests/report/text.cc": "\n" * 500})
        self.assert_caught({"src/report/text.cc": "\n" * 401}, "src/report/text.cc:401", "401 lines, 400 allowed")
        self.assert_caught({"tests/report/text.cc": "\n" * 501}, "tests/report/text.cc:501", "501 lines, 500 allowed")
        self.assert_caught({"src/cli/main.cc": "\n" * 61}, "src/cli/main.cc:61", "61 lines, 60 allowed")

    def test_a_folder_of_more_than_25_sources_is_caught(self):
        self.assert_clean({f"src/report/table{number}.cc": "" for number in range(25)})
        self.assert_caught({f"src/report/table{number}.cc": "" for number in range(26)}, "src/report:1", "26 sources in one folder")


if __name__ == "__main__":
    unittest.main()
