#!/usr/bin/env python3
"""configs/prometheus and configs/gather.toml: alerts under Prometheus' own rule tests, names against the daemon's metrics.
usage: monitoring.py SKEWSCOPE"""
import json
import re
import shutil
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

from daemon import PROGRAM, Daemon, DaemonTest, key_file, minted, self_made_ca, trusting

TOP = Path(__file__).resolve().parents[2]
RULES = TOP / "configs/prometheus/skewscope-gather.rules.yml"
JOB_RULES = TOP / "configs/prometheus/skewscope-job.rules.yml"
DASHBOARD = TOP / "configs/prometheus/grafana-dashboard.json"
# A day and a half, sample by minute: a series as promtool writes it, and the alert that it sets off at its end.
CASES = [
    ('up{job="skewscope-gather"}', "1x2000 0x100", "SkewscopeGatherDown"),
    ("skewscope_gather_lost_files_total", "0x2000 1x100", "SkewscopeGatherLostFiles"),
    ("skewscope_gather_disk_free_bytes", "1.5e12x2100", "SkewscopeGatherDiskFull"),  # of 10e12: new jobs from 85 % on
    ("skewscope_gather_disk_free_bytes", "4.6e12-1.2e9x2100", "SkewscopeGatherDiskFull"),  # in 22 hours
    ("skewscope_gather_ready", "1x2000 0x100", "SkewscopeGatherNotReady"),
    ('skewscope_gather_refused_total{reason="no_space"}', "0x2000 0+1x100", "SkewscopeGatherRefuses"),
    ("skewscope_gather_certificate_end_seconds", "5e5x2100", "SkewscopeGatherCertificateEnds"),  # it is 126,000
    ("skewscope_gather_resident_memory_bytes", "2.5e9x2100", "SkewscopeGatherShortOfMeans"),
    ("skewscope_gather_open_descriptors", "15000x2100", "SkewscopeGatherShortOfMeans"),
    ("skewscope_gather_checksum_failures_total", "0x2000 0+1x100", "SkewscopeGatherBadDigests"),
    ('skewscope_gather_reports_total{result="failed"}', "0x1000 0+1x1100", "SkewscopeGatherReportsFail"),
    ('skewscope_gather_auth_failures_total{kind="token"}', "0+120x2100", "SkewscopeGatherStrangers"),
    ("skewscope_gather_webhook_dropped_total", "0x2080 5x20", "SkewscopeGatherWebhookDrops"),
]
HEALTHY = {
    'up{job="skewscope-gather"}': "1x2100",
    "skewscope_gather_lost_files_total": "0x2100",
    "skewscope_gather_disk_free_bytes": "3e12x2100",
    "skewscope_gather_disk_size_bytes": "10e12x2100",
    'skewscope_gather_disk_limit_ratio{refuses="new_jobs"}': "0.85x2100",
    'skewscope_gather_disk_limit_ratio{refuses="uploads"}': "0.95x2100",
    "skewscope_gather_ready": "1x2100",
    'skewscope_gather_refused_total{reason="request"}': "0+1x2100",
    "skewscope_gather_certificate_end_seconds": "3e6x2100",
    "skewscope_gather_resident_memory_bytes": "1e9x2100",
    "skewscope_gather_memory_limit_bytes": "3e9x2100",
    "skewscope_gather_open_descriptors": "100x2100",
    "skewscope_gather_descriptor_limit": "16384x2100",
    "skewscope_gather_checksum_failures_total": "0x2100",
    "skewscope_gather_webhook_dropped_total": "0x2100",
    'skewscope_gather_reports_total{result="failed"}': "0+0.05x2100",
    'skewscope_gather_reports_total{result="made"}': "0+1x2100",
    'skewscope_gather_auth_failures_total{kind="token"}': "0+1x2100",
    "skewscope_gather_fsync_duration_seconds_sum": "0+6x2100",
    "skewscope_gather_fsync_duration_seconds_count": "0+600x2100",
}


# What the figures of a job or a node set off.
QUIET_JOB = {
    'skewscope_job_hang_culprits{job_name="run"}': "0x2100",
    'skewscope_ranks{job_name="run",state="present"}': "8x2100",
    'skewscope_recent_wait_caused_ratio{job_name="run",rank="3",host="node3"}': "0.01x2100",
    'skewscope_recent_late_ratio{job_name="run",rank="3"}': "0.9x2100",
    'skewscope_node_jobs{node="node7",part="gpu"}': "8x2100",
    'skewscope_node_caused_jobs{node="node7",part="gpu"}': "4x2100",
    'skewscope_node_jobs{node="node8",part="gpu"}': "2x2100",
    'skewscope_node_caused_jobs{node="node8",part="gpu"}': "2x2100",  # few jobs tell little
}
JOB_CASES = [
    ('skewscope_job_hang_culprits{job_name="run"}', "0x2000 1x100", "SkewscopeJobHangs"),
    ('skewscope_recent_wait_caused_ratio{job_name="run",rank="3",host="node3"}', "0.1x2100", "SkewscopeRecurringStraggler"),
    ('skewscope_node_caused_jobs{node="node7",part="gpu"}', "5x2100", "SkewscopeSlowNode"),
]


def reports_each_minute(bounds, lag):
    """The series of a daemon whose histogram has these bounds, when each minute a report begins `lag` seconds late."""
    return {f'skewscope_gather_report_lag_seconds_bucket{{le="{bound}"}}': "0+1x2100" if lag <= float(bound) else "0x2100"
            for bound in bounds}


def rule_tests(series, alerts, rules):
    """promtool's file: at the end these alerts fire, and no other."""
    names = re.findall(r"alert: (\w+)", rules.read_text())
    checks = [{"eval_time": "2100m", "alertname": name,
               "exp_alerts": [{}] if name in alerts else []} for name in names]
    return {"rule_files": [str(rules)], "evaluation_interval": "1m",
            "tests": [{"interval": "1m", "input_series": [{"series": s, "values": v} for s, v in series.items()],
                       "alert_rule_test": checks}]}


@unittest.skipUnless(shutil.which("promtool"), "no promtool: scripts/install_packages --with-checks")
class Alerts(unittest.TestCase):
    def fired(self, series, rules=RULES):
        """Names of the alerts that fire at the end: promtool says which it did not expect."""
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            json.dump(rule_tests(series, [], rules), file)
            file.flush()
            done = subprocess.run(["promtool", "test", "rules", file.name], capture_output=True, text=True)
        text = done.stdout + done.stderr
        found = set(re.findall(r"alertname: ?(\w+), time", text))
        self.assertEqual(done.returncode == 0, not found, text)
        return found

    def test_a_healthy_gatherer_sets_off_none(self):
        self.assertEqual(self.fired(HEALTHY), set())

    def test_each_trouble_sets_off_its_alert_and_no_other(self):
        for series, values, alert in CASES:
            with self.subTest(alert=alert):
                self.assertEqual(self.fired({**HEALTHY, series: values}), {alert})

    def test_a_hang_a_recurring_straggler_and_a_node_that_was_the_cause_in_most_of_its_jobs_set_off_theirs(self):
        self.assertEqual(self.fired(QUIET_JOB, JOB_RULES), set())
        for series, values, alert in JOB_CASES:
            with self.subTest(alert=alert):
                self.assertEqual(self.fired({**QUIET_JOB, series: values}, JOB_RULES), {alert})

    def test_reports_that_begin_late_set_off_theirs_by_the_buckets_that_the_daemon_has(self):
        daemon = Daemon().start()
        text = daemon.ask("GET", "/metrics", admin=True).body.decode()
        daemon.stop()
        bounds = re.findall(r'(?m)^skewscope_gather_report_lag_seconds_bucket\{le="([^"]+)"\}', text)
        for lag, alerts in ((1000, set()), (2400, {"SkewscopeGatherReportsLate"}), (20000, {"SkewscopeGatherReportsLate"})):
            with self.subTest(lag=lag):
                self.assertEqual(self.fired({**HEALTHY, **reports_each_minute(bounds, lag)}), alerts)

    def test_slow_flushes_set_off_theirs(self):
        slow = {**HEALTHY, "skewscope_gather_fsync_duration_seconds_sum": "0+1200x2100"}
        self.assertEqual(self.fired(slow), {"SkewscopeGatherSlowDisk"})


class Names(DaemonTest):
    def test_rules_and_dashboard_ask_only_for_figures_that_the_daemon_has(self):
        self.daemon.put(b"x", "counted", 0)
        text = self.daemon.ask("GET", "/metrics", admin=True).body.decode()
        known = set(re.findall(r"(?m)^# TYPE (\S+)", text)) | {
            "skewscope_gather_refused_total", "skewscope_gather_auth_failures_total",
            "skewscope_gather_certificate_end_seconds"}  # once there is one
        asked = set(re.findall(r"skewscope_gather_\w+", RULES.read_text() + DASHBOARD.read_text()))
        self.assertGreater(len(asked), 12)
        self.assertEqual({name for name in asked if re.sub(r"_(sum|count|bucket)$", "", name) not in known}, set())


class Elsewhere(unittest.TestCase):
    def test_metrics_on_another_address_than_loopback_want_tls_and_a_token_of_every_job_and_probes_want_none(self):
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        self_made_ca(folder)
        keys = key_file(folder)
        daemon = Daemon("--token-key-file", keys, "--certificate", folder / "head.pem", "--private-key", folder / "head.key",
                        insecure=False)
        daemon.admin = "0.0.0.0:0"
        daemon.start()
        self.addCleanup(lambda: daemon.process.poll() is None and daemon.stop())

        def status(path, token=None, plain=False):
            sock = socket.create_connection(("127.0.0.1", daemon.admin_port), 20)
            sock = sock if plain else trusting(folder).wrap_socket(sock, server_hostname="localhost")
            with sock:
                bearer = f"Authorization: Bearer {token}\r\n" if token else ""
                sock.sendall(f"GET {path} HTTP/1.1\r\nHost: 10.1.2.3:7476\r\n{bearer}Connection: close\r\n\r\n".encode())
                return sock.recv(100).split(b" ")[1:2]

        self.assertEqual([status("/-/healthy"), status("/-/ready")], [[b"200"]] * 2)
        self.assertEqual(status("/metrics", minted(keys, "*", "--scopes", "read")), [b"200"])
        for token in (None, minted(keys, "a"), minted(keys, "a", "--scopes", "admin"), "x"):
            self.assertEqual(status("/metrics", token), [b"401"], token)
        self.assertNotIn(b"200", status("/-/healthy", plain=True))


class Settings(unittest.TestCase):
    def test_each_key_of_the_sample_is_a_flag(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([PROGRAM, "gather", "--config", TOP / "configs/gather.toml", "--spool", folder, "--check"],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 3, done.stderr)  # read, and then no spool found to check
            self.assertIn("spool", done.stderr)


if __name__ == "__main__":
    unittest.main()
