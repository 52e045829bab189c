"""Extras: optional packages of the distribution, and the one error for an extra that is not installed."""

from __future__ import annotations

from importlib.util import find_spec

from smartspider.core.errors import NotBuilt

DISTRIBUTION = "smartspider-crawler"

PACKAGES: dict[str, tuple[str, ...]] = {
    "browser-cookies": ("browser_cookie3",),
    "server": ("fastapi", "uvicorn", "httptools", "websockets", "argon2", "jwt", "prometheus_client"),
    "cluster": ("psycopg", "redis"),
    "excel": ("xlsxwriter",),
    "parquet": ("pyarrow",),
    "text": ("jsonschema", "markdownify", "py3langid", "trafilatura"),
}
"""Import names that each extra installs."""


def require_extra(feature: str, extra: str, *packages: str) -> None:
    """Raise `NotBuilt` with the install command if a package of an extra or of `packages` is missing."""
    for package in packages or PACKAGES[extra]:
        require_package(feature, package, f"{DISTRIBUTION}[{extra}]")


def require_package(feature: str, package: str, requirement: str) -> None:
    """Raise `NotBuilt` with the command that installs `requirement` if `package` cannot be imported."""
    if find_spec(package) is None:
        raise NotBuilt(
            f"{feature} needs the package {package}, which is not installed",
            hint=f'pip install "{requirement}"',
        )
