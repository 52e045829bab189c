"""Validation of a tuning: each setting has the type, bounds and description of its key in the task file."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field, create_model

from smartspider.taskfile.model.forms import Section
from smartspider.taskfile.model.sections import Limits, Politeness
from smartspider.taskfile.model.task import Task

_SECTIONS: dict[str, type[Section]] = {
    "concurrency": Task,
    "delay_s": Politeness,
    "rate_per_s": Politeness,
    "per_host": Politeness,
    "priority": Task,
}
"""The sections of the task file that hold the settings of a `Tuning`; limits are a section of their own."""


class _Tuned(Section):
    """Settings to change while a run is active. Omitted settings stay unchanged."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"concurrency": 4, "delay_s": 1.5, "limits": {"max_pages": 500}}]}
    )


def _field(name: str) -> Any:
    # Pydantic records which keys were set, so that null can mean "none"; the default is never read.
    found = _SECTIONS[name].model_fields[name]
    note = "; null: no rate." if name == "rate_per_s" else "."
    about = (found.description or "").rstrip(".") + note
    return found.rebuild_annotation(), Field(default_factory=lambda: None, description=about)


Knobs = create_model(
    "Knobs",
    __base__=_Tuned,
    __doc__=_Tuned.__doc__,
    **{name: _field(name) for name in _SECTIONS},
    limits=(Limits, Field(default=Limits(), description="Limits to change; null removes one.")),
)
