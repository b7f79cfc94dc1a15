#!/usr/bin/env python3
"""What a token that may upload may not do by a way round, and what it may.
usage: rights.py SKEWSCOPE"""
import tempfile
import unittest

from daemon import DaemonTest, key_file, minted

FOLDER = tempfile.TemporaryDirectory(prefix="skewscope_keys_")
KEYS = key_file(FOLDER.name)


class Rights(DaemonTest):
    flags, insecure = ("--token-key-file", KEYS), False

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.a, cls.b = minted(KEYS, "a"), minted(KEYS, "b")
        cls.reader, cls.admin = minted(KEYS, "a", "--scopes", "read"), minted(KEYS, "*", "--scopes", "admin")
        assert cls.daemon.put(b"of a", "a", 0, cls.a).status == 201

    def test_a_token_that_may_upload_may_not_let_its_job_be_deleted_sooner(self):
        def asks(seconds, token):
            return self.daemon.ask("PUT", "/v1/jobs/a", body=f'{{"retention_s": {seconds}}}', token=token).status
        month = 30 * 24 * 3600
        self.assertEqual(asks(1, self.a), 403)
        self.assertEqual(asks(month, self.a), 200)      # the daemon's own
        self.assertEqual(asks(2 * month, self.a), 200)  # longer
        self.assertEqual(asks(month, self.a), 403)      # than has been promised
        self.assertEqual(asks(month, self.admin), 200)
        self.assertEqual(asks(7200, self.admin), 200)
        shortened = [line for line in self.daemon.log_lines() if line.get("event") == "retention_shortened"]
        self.assertEqual([(line["job"], line["retention_s"]) for line in shortened], [("a", month), ("a", 7200)])
        self.assertTrue(all(len(line["token"]) == 8 for line in shortened))

    def test_a_report_is_made_again_when_it_is_asked_for(self):
        self.assertEqual(self.daemon.ask("POST", "/v1/jobs/a/report", token=self.b).status, 404)
        self.assertEqual(self.daemon.ask("POST", "/v1/jobs/a/report", token=self.reader).status, 403)
        self.assertEqual(self.daemon.ask("POST", "/v1/jobs/none/report", token=self.admin).status, 404)
        self.assertEqual(self.daemon.ask("POST", "/v1/jobs/a/report", token=self.a).status, 202)


if __name__ == "__main__":
    unittest.main()
