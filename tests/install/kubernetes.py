#!/usr/bin/env python3
"""configs/kubernetes by Kubernetes' own schemas, and against the image and the daemon that it runs.
usage: kubernetes.py SKEWSCOPE BUILD"""
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
FILE = TOP / "configs/kubernetes/gather.yaml"
CONTAINERFILE = (TOP / "configs/container/Containerfile").read_text()
PROGRAM, BUILD = sys.argv.pop(1), Path(sys.argv.pop(1))


def packages():
    """The folder with the packages of package-lock.json; None: they cannot be had."""
    folder = BUILD / "kubernetes"
    shutil.copytree(TOP / "tests/install/kubernetes", folder, dirs_exist_ok=True)
    lock, built = folder / "package-lock.json", folder / "node_modules/built-from"
    if not built.exists() or built.read_bytes() != lock.read_bytes():
        if not shutil.which("npm") or subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=folder).returncode != 0:
            return None
        shutil.copy(lock, built)
    return folder


FOLDER = packages()
if FOLDER is None:
    print("skipped: no npm, or its packages cannot be had")
    sys.exit(77)


def checked(file):
    done = subprocess.run(["node", "check.mjs", file], cwd=FOLDER, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Kubernetes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.checked = checked(FILE)
        cls.kinds = {row["document"]["kind"]: row["document"] for row in cls.checked}
        cls.pod = cls.kinds["Deployment"]["spec"]["template"]["spec"]
        cls.gather = cls.pod["containers"][0]
        cls.settings = tomllib.loads(cls.kinds["ConfigMap"]["data"]["gather.toml"])

    def test_each_document_is_what_its_schema_says_and_one_with_a_wrong_key_is_not(self):
        self.assertEqual([row["problem"] for row in self.checked], [""] * 5)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as wrong:
            wrong.write(FILE.read_text().replace("replicas: 1", "replicas: one"))
            wrong.flush()
            self.assertTrue(any("replicas" in row["problem"] for row in checked(wrong.name)))

    def test_it_runs_without_rights_as_the_user_of_the_image(self):
        user = int(re.search(r"^USER (\d+):", CONTAINERFILE, re.M)[1])
        context = self.pod["securityContext"]
        self.assertEqual([context[key] for key in ("runAsUser", "runAsGroup", "fsGroup")], [user] * 3)
        self.assertTrue(context["runAsNonRoot"])
        for container in self.pod["initContainers"] + self.pod["containers"]:
            own = container["securityContext"]
            self.assertEqual((own["allowPrivilegeEscalation"], own["readOnlyRootFilesystem"], own["capabilities"]["drop"]),
                             (False, True, ["ALL"]))
            self.assertIn("memory", container["resources"]["limits"])

    def test_ports_volumes_and_names_are_those_of_the_settings_and_of_the_image(self):
        ports = {port["name"]: port["containerPort"] for port in self.gather["ports"]}
        self.assertEqual(ports, {name: int(self.settings[key].rsplit(":")[-1]) for name, key in (("uploads", "listen"), ("admin", "admin"))})
        for probe, path in (("livenessProbe", "/-/healthy"), ("readinessProbe", "/-/ready"), ("startupProbe", "/-/healthy")):
            self.assertEqual(self.gather[probe]["httpGet"], {"path": path, "port": "admin", "scheme": "HTTPS"})
        mounts = {mount["mountPath"] for mount in self.gather["volumeMounts"]}
        self.assertIn(re.search(r"^VOLUME (\S+)", CONTAINERFILE, re.M)[1], mounts)
        self.assertIn("/etc/skewscope", mounts)
        for key in ("certificate", "private-key", "token-key-file"):
            self.assertEqual(Path(self.settings[key]).parent, Path("/keys"))
        self.assertEqual(self.kinds["Service"]["metadata"]["name"], self.settings["server-name"].split(".")[0])
        labels = self.kinds["Deployment"]["spec"]["template"]["metadata"]["labels"]
        self.assertEqual(self.kinds["Service"]["spec"]["selector"], labels)
        self.assertEqual(self.kinds["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"], labels)

    def test_the_daemon_knows_each_setting(self):
        with tempfile.TemporaryDirectory() as folder:
            settings = Path(folder, "gather.toml")
            settings.write_text(self.kinds["ConfigMap"]["data"]["gather.toml"])
            done = subprocess.run([PROGRAM, "gather", "--config", settings, "--spool", f"{folder}/none", "--check"],
                                  capture_output=True, text=True)
        self.assertEqual(done.returncode, 3, done.stderr)  # read, and then no spool found to check


if __name__ == "__main__":
    unittest.main()
