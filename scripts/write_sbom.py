"""The list of what the tarball of scripts/make_tarball holds, as SPDX 2.3 in JSON: a package of Debian each, as dpkg knows it."""
import hashlib
import json
import subprocess
from datetime import datetime, timezone
from urllib.parse import quote

FIELDS = ("binary:Package", "Version", "Architecture", "source:Package", "source:Version", "Homepage", "Maintainer")
ECHARTS = {"SPDXID": "SPDXRef-echarts", "name": "echarts", "versionInfo": "6.1.0", "downloadLocation": "NOASSERTION",
           "filesAnalyzed": False, "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
           "copyrightText": "NOASSERTION",
           "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                             "referenceLocator": "pkg:npm/echarts@6.1.0"}]}


def of_debian(package):
    """A package as SPDX describes it; its licences stand in the copyright file that Debian gives it."""
    shown = "\t".join("${%s}" % field for field in FIELDS)
    values = subprocess.run(["dpkg-query", "--show", f"--showformat={shown}", package], check=True, capture_output=True,
                            text=True).stdout.split("\t")
    known = dict(zip(FIELDS, values))
    name = known["binary:Package"].split(":")[0]
    upstream = f"{known['source:Package']}@{known['source:Version']}"
    purl = (f"pkg:deb/debian/{name}@{quote(known['Version'], safe='')}?arch={known['Architecture']}"
            f"&upstream={quote(upstream, safe='')}")
    return {"SPDXID": "SPDXRef-" + name.replace("+", "-plus-"), "name": name, "versionInfo": known["Version"],
            "supplier": f"Organization: {known['Maintainer']}", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "homepage": known["Homepage"] or "NOASSERTION", "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "NOASSERTION", "licenseComments": f"share/doc/skewscope/licences/{name}",
            "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]}


def document(version, time, carried, compiled_in):
    """`carried`: packages whose files are in the tarball; `compiled_in`: whose code is in its programs."""
    own = {"SPDXID": "SPDXRef-skewscope", "name": "skewscope", "versionInfo": version, "downloadLocation": "NOASSERTION",
           "filesAnalyzed": False, "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
           "copyrightText": "NOASSERTION"}
    parts = [(of_debian(name), "DYNAMIC_LINK") for name in carried]
    parts += [(of_debian(name), "STATIC_LINK") for name in compiled_in] + [(ECHARTS, "CONTAINS")]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    relations += [(own["SPDXID"], relation, part["SPDXID"]) for part, relation in parts]
    packages = [own] + [part for part, _ in parts]
    content = hashlib.sha256(json.dumps(packages).encode()).hexdigest()
    return json.dumps(
        {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"skewscope-{version}",
         "documentNamespace": f"https://spdx.org/spdxdocs/skewscope-{version}-{content}",
         "creationInfo": {"created": datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                          "creators": [f"Tool: skewscope-make_tarball-{version}"]},
         "packages": packages,
         "relationships": [{"spdxElementId": one, "relationshipType": relation, "relatedSpdxElement": other}
                           for one, relation, other in relations]}, indent=1) + "\n"
