"""The overlays as `kubectl kustomize` renders them, and what a pod of them is told."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
OVERLAYS = ("dev", "prod")
OLDEST_KUBECTL = (1, 30)

Resource = dict[str, Any]


@cache
def _kubectl() -> str | None:
    """Return what is wrong with kubectl, None if it can be used."""
    found = shutil.which("kubectl")
    if found is None:
        return "kubectl is missing: install version 1.30 or newer"
    told = subprocess.run([found, "version", "--client"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"v(\d+)\.(\d+)", told)
    if match is None or (int(match[1]), int(match[2])) < OLDEST_KUBECTL:
        return f"kubectl is too old for these overlays: {told.strip()[:80]}; install version 1.30 or newer"
    return None


@cache
def _text(overlay: str) -> str:
    command = ["kubectl", "kustomize", str(ROOT / "deploy/k8s/overlays" / overlay)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def _resources(text: str) -> list[Resource]:
    return [each for each in yaml.load_all(text, yaml.CSafeLoader) if each]


def rendered_text(overlay: str) -> str:
    """Return an overlay as text; skips (fails in CI) where kubectl is missing."""
    trouble = _kubectl()
    if trouble is not None:
        if os.environ.get("CI") == "true":
            pytest.fail(trouble)
        pytest.skip(trouble)
    return _text(overlay)


def rendered(overlay: str) -> list[Resource]:
    """Return the resources of an overlay; shared, so a test that changes one copies it first."""
    return _resources(rendered_text(overlay))


def of_kind(overlay: str, *kinds: str) -> dict[str, Resource]:
    """Return the resources of these kinds by name."""
    return {each["metadata"]["name"]: each for each in rendered(overlay) if each["kind"] in kinds}


def pod_of(workload: Resource) -> Resource:
    """Return the pod's spec of a Deployment or Job."""
    return workload["spec"]["template"]["spec"]


def environment(overlay: str, workload: Resource) -> dict[str, str | None]:
    """Return the settings that a workload is given; None where the value is a secret of the operator."""
    config = of_kind(overlay, "ConfigMap")
    found: dict[str, str | None] = {}
    pod = pod_of(workload)
    (container,) = pod["containers"]
    for source in container.get("envFrom", ()):
        if "configMapRef" in source:
            found |= config[source["configMapRef"]["name"]]["data"]
    for each in container.get("env", ()):
        reference = each.get("valueFrom", {}).get("configMapKeyRef")
        if reference is not None:
            found[each["name"]] = config[reference["name"]]["data"][reference["key"]]
        else:
            found[each["name"]] = each.get("value")
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    for volume in pod["volumes"]:
        if "secret" in volume and mounts.get(volume["name"]) == found.get("QUERYBUS_SECRETS_DIR"):
            found |= dict.fromkeys(item["path"] for item in volume["secret"]["items"])
    return found
