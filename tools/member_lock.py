"""Which locked packages an image needs: names are committed, versions and hashes stay in the two locks.

`python tools/member_lock.py write` follows what each member declares, through the packages as they are installed
here, and writes packages/<member>.txt. `... filter <member>` prints the part of the locks for these names; the image build calls
it, so it needs nothing but Python. `... rest` prints what a lock on standard input has beyond requirements.lock.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Set
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[1] / "deploy/docker/packages"
LOCK: Final = Path(__file__).parents[1] / "requirements.lock"
"""What the product needs, and what installs its members."""
REST: Final = LOCK.with_name("requirements-dev.lock")
"""What its developers need beyond that; drivers that are extras stand there, because tests need them."""
MEMBERS: Final = ("gateway", "generator", "validator", "executor", "recovery", "presenter", "cli", "all")
DRIVERS: Final = ("clickhouse", "oracle", "bigquery")
"""Extras of the executor that the locks hold."""
SNOWFLAKE_LOCK: Final = LOCK.with_name("requirements-snowflake.lock")
BUILD: Final = "build"
"""What makes wheels of the members; in no image."""

_ROOTS: Final = {
    "all": "querybus[bigquery,clickhouse,oracle,embeddings,grpc]",
    "cli": "querybus",
    "gateway": "querybus-gateway[grpc]",
    "generator": "querybus-generator[embeddings]",
}
_NAME: Final = re.compile(r"^([A-Za-z0-9][\w.-]*)")


def canonical(name: str) -> str:
    """Return a package's name in the one spelling that counts.

    >>> canonical("Trove_Classifiers")
    'trove-classifiers'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(member: str) -> list[str]:
    """Return what a member's pyproject.toml requires: what is installed of it may be older than the file."""
    import tomllib

    _, _, short = member.partition("-")
    libraries = ("common", "client", "semantic", "translator")
    folder = f"libs/{short}" if short in libraries else f"services/{short}" if short else "cli"
    project = tomllib.loads((LOCK.parent / folder / "pyproject.toml").read_text())["project"]
    result = list(project.get("dependencies", ()))
    for extra, requirements in project.get("optional-dependencies", {}).items():
        for requirement in requirements:
            what, _, marker = requirement.partition(";")
            result.append(f'{what}; {f"({marker}) and " if marker else ""}extra == "{extra}"')
    return result


def closure(roots: list[str]) -> set[str]:
    """Return the packages that these requirements bring on this platform, members of the workspace left out."""
    from importlib import metadata

    from packaging.requirements import Requirement

    names: set[str] = set()
    seen: set[tuple[str, str]] = set()
    waiting = [Requirement(root) for root in roots]
    while waiting:
        wanted = waiting.pop()
        name = canonical(wanted.name)
        for extra in ("", *wanted.extras):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            if not name.startswith("querybus"):
                names.add(name)
            ours = name.startswith("querybus")
            for text in declared(name) if ours else metadata.requires(wanted.name) or ():
                requirement = Requirement(text)
                # Without an extra's marker a requirement holds for every extra: it is followed once, with "".
                if requirement.marker is None:
                    if not extra:
                        waiting.append(requirement)
                elif requirement.marker.evaluate({"extra": extra}):
                    waiting.append(requirement)
    return names


def names() -> dict[str, set[str]]:
    """Return the packages of each image, and of the build."""
    result = {member: closure([_ROOTS.get(member, f"querybus-{member}")]) for member in MEMBERS}
    result |= {f"executor-{driver}": closure([f"querybus-executor[{driver}]"]) for driver in DRIVERS}
    return result | {BUILD: closure(["hatchling"])}


def filtered(lock: str, wanted: Set[str]) -> str:
    """Return the entries of a lock for these names, hashes included; KeyError names one that the lock lacks."""
    found = entries(lock)
    return "".join(f"{line}\n" for name in sorted(wanted) for line in found[name])


def entries(lock: str) -> dict[str, list[str]]:
    """Return the lines of each package of a lock."""
    result: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lock.splitlines():
        match = _NAME.match(line)
        if match is not None:
            current = result.setdefault(canonical(match[1]), [])
        if match is not None or line.startswith((" ", "\t")):
            current.append(line)
    return result


def main() -> None:
    """Carry out `write`, `filter MEMBER` or `rest`."""
    match sys.argv[1:]:
        case ["write"]:
            FOLDER.mkdir(exist_ok=True)
            for name, packages in names().items():
                (FOLDER / f"{name}.txt").write_text("".join(f"{package}\n" for package in sorted(packages)))
        case ["filter", "executor-snowflake"]:
            sys.stdout.write(SNOWFLAKE_LOCK.read_text())
        case ["filter", member]:
            wanted = set((FOLDER / f"{member}.txt").read_text().split())
            sys.stdout.write(filtered(LOCK.read_text() + REST.read_text(), wanted))
        case ["rest"]:
            whole = sys.stdin.read()
            sys.stdout.write(filtered(whole, entries(whole).keys() - entries(LOCK.read_text()).keys()))
        case _:
            sys.exit("say: member_lock.py write, member_lock.py filter MEMBER, or member_lock.py rest < LOCK")


if __name__ == "__main__":
    main()
