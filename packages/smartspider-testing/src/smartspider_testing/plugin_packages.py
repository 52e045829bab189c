"""Installed packages with plug-ins, as tests make them: a module and its metadata in a folder on the path."""

from __future__ import annotations

from pathlib import Path


def install_package(folder: Path, name: str, source: str, entry_points: str) -> None:
    """Put a package with one module into a folder on the path; `entry_points` is the file of that name."""
    module = name.replace("-", "_")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{module}.py").write_text(source)
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entry_points)
