"""The overlays as `kubectl kustomize` renders them, and what a pod of them is reported.

Without kubectl 1.30 or newer a renderer of our own stands in: it knows the part of kustomize that these files use and
gives generated names no hash. A test holds it against kubectl wherever there is one.
"""

from __future__ import annotations

import copy
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
OVERLAYS = ("dev", "prod")
OLDEST_KUBECTL = (1, 30)

Resource = dict[str, Any]


@cache
def has_kubectl() -> bool:
    """Return whether a kubectl is there that is new enough."""
    result = shutil.which("kubectl")
    if result is None:
        return False
    reported = subprocess.run([result, "version", "--client"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"v(\d+)\.(\d+)", reported)
    return match is not None and (int(match[1]), int(match[2])) >= OLDEST_KUBECTL


@cache
def rendered_text(overlay: str) -> str:
    """Return an overlay as text."""
    folder = ROOT / "deploy/k8s/overlays" / overlay
    if not has_kubectl():
        return yaml.safe_dump_all(own_rendering(folder), sort_keys=False)
    done = subprocess.run(["kubectl", "kustomize", str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def own_rendering(folder: Path, before: list[Resource] | None = None) -> list[Resource]:
    """Return what a kustomization gives; a component changes what was there `before`."""
    reported: Resource = yaml.safe_load((folder / "kustomization.yaml").read_text())
    known = {"apiVersion", "kind", "namespace", "resources", "components", "labels", "configMapGenerator", "patches"}
    assert set(reported) <= known, f"{folder}: this renderer does not know {set(reported) - known}"
    result = before if before is not None else []
    for name in reported.get("resources", ()):
        path = folder / name
        result += (
            own_rendering(path) if path.is_dir() else [item for item in yaml.safe_load_all(path.read_text()) if item]
        )
    for name in reported.get("components", ()):
        own_rendering(folder / name, result)
    for item in reported.get("configMapGenerator", ()):
        _generate(folder, item, result)
    for patch in reported.get("patches", ()):
        for target in (item for item in result if _is_target(patch["target"], item)):
            for operation in yaml.safe_load(patch["patch"]):
                _change(target, operation)
    for item in result:
        for label in reported.get("labels", ()):
            item["metadata"].setdefault("labels", {}).update(label["pairs"])
            template = item.get("spec", {}).get("template", {})
            if label.get("includeTemplates") and template:
                template["metadata"].setdefault("labels", {}).update(label["pairs"])
        if "namespace" in reported:
            item["metadata"]["name" if item["kind"] == "Namespace" else "namespace"] = reported["namespace"]
    return result


def _generate(folder: Path, reported: Resource, found: list[Resource]) -> None:
    data = dict(literal.split("=", 1) for literal in reported.get("literals", ()))
    data |= {name: (folder / name).read_text() for name in reported.get("files", ())}
    present = next(
        (item for item in found if (item["kind"], item["metadata"]["name"]) == ("ConfigMap", reported["name"])), None
    )
    assert (present is None) == ("behavior" not in reported), reported["name"]
    if present is None:
        metadata = {
            "name": reported["name"],
            **({"labels": dict(reported["options"]["labels"])} if "options" in reported else {}),
        }
        found.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    else:
        present["data"] = data if reported["behavior"] == "replace" else present["data"] | data


def _is_target(target: Resource, resource: Resource) -> bool:
    return bool(
        re.fullmatch(target["kind"], resource["kind"])
        and re.fullmatch(target.get("name", ".*"), resource["metadata"]["name"])
    )


def _change(resource: Resource, operation: Resource) -> None:
    *steps, last = operation["path"].strip("/").split("/")
    place: Any = resource
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]
    value = copy.deepcopy(operation["value"])
    match operation["op"]:
        case "add" if last == "-":
            place.append(value)
        case "replace" if isinstance(place, list):
            place[int(last)] = value
        case "replace" if last in place:
            place[last] = value
        case _:
            raise AssertionError(f"this renderer does not know {operation}")


@cache
def _resources(text: str) -> list[Resource]:
    return [item for item in yaml.load_all(text, yaml.CSafeLoader) if item]


def rendered(overlay: str) -> list[Resource]:
    """Return the resources of an overlay; shared, so a test that changes one copies it first."""
    return _resources(rendered_text(overlay))


def of_kind(overlay: str, *kinds: str) -> dict[str, Resource]:
    """Return the resources of these kinds by name."""
    return {item["metadata"]["name"]: item for item in rendered(overlay) if item["kind"] in kinds}


def pod_of(workload: Resource) -> Resource:
    """Return the pod's spec of a Deployment or Job."""
    return workload["spec"]["template"]["spec"]


def environment(overlay: str, workload: Resource) -> dict[str, str | None]:
    """Return the settings that a workload is given; None where the value is a secret of the operator."""
    config = of_kind(overlay, "ConfigMap")
    result: dict[str, str | None] = {}
    pod = pod_of(workload)
    (container,) = pod["containers"]
    for source in container.get("envFrom", ()):
        if "configMapRef" in source:
            result |= config[source["configMapRef"]["name"]]["data"]
    for variable in container.get("env", ()):
        reference = variable.get("valueFrom", {}).get("configMapKeyRef")
        if reference is not None:
            result[variable["name"]] = config[reference["name"]]["data"][reference["key"]]
        else:
            result[variable["name"]] = variable.get("value")
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    for volume in pod["volumes"]:
        if "secret" in volume and mounts.get(volume["name"]) == result.get("QUERYBUS_SECRETS_DIR"):
            result |= dict.fromkeys(item["path"] for item in volume["secret"]["items"])
    return result
