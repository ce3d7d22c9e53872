"""Builds a wheel of each member into dist/, from which `pip install` sets up the command without the repository.

`python tools/build_wheels.py [FOLDER]`. Hatchling writes the same bytes for the same files, whenever it runs.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]


def members() -> list[Path]:
    """Return the folders of the members, as the workspace names them."""
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["workspace"]["members"]
    return [folder for pattern in patterns for folder in sorted(ROOT.glob(pattern)) if folder.is_dir()]


def build_wheels(target: Path) -> list[Path]:
    """Build every member's wheel into a folder, remove older ones of them, and return the files."""
    target.mkdir(parents=True, exist_ok=True)
    for old in target.glob("querybus*.whl"):
        old.unlink()
    for member in members():
        command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(target)]
        done = subprocess.run(command, cwd=member, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{member.relative_to(ROOT)}: no wheel\n{done.stderr[-2_000:]}")
    return sorted(target.glob("querybus*.whl"))


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"
    wheels = build_wheels(folder.resolve())
    sys.stdout.write("".join(f"{wheel.name}\n" for wheel in wheels))
    sys.stdout.write(f"install the command anywhere: pip install {folder}/*.whl\n")
