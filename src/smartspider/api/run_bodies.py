"""What is sent to start a run and to try it again."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Body
from pydantic import BaseModel, ConfigDict, Field

from smartspider.taskfile.tuning import Knobs


class StartBody(BaseModel):
    """How a run is to be started."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"examples": [{"overlap": True, "tuning": {"concurrency": 4}}]},
    )

    overlap: bool | None = Field(
        default=None, description="Start it also while another run of the task is not over."
    )
    version: int | None = Field(
        default=None, ge=1, le=10**12, description="The version of the task; without it the newest."
    )
    tuning: Knobs | None = Field(default=None, description="Knobs that are turned from the beginning.")


class RetryBody(BaseModel):
    """What is to be tried again."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"which": "failed"}]})

    which: Literal["failed", "all"] = Field(
        default="failed",
        description="`failed`: what failed, in the same run; `all`: everything, in a new run of its version.",
    )


Start = Annotated[
    StartBody | None,
    Body(
        openapi_examples={
            "plain": {"summary": "The newest version, if no other run is active", "value": {}},
            "beside": {"summary": "Beside other runs", "value": {"overlap": True}},
            "gently": {
                "summary": "An older version, slower and shorter than its task says",
                "value": {"version": 2, "tuning": {"delay_s": 2.0, "limits": {"max_pages": 100}}},
            },
        }
    ),
]
Retry = Annotated[
    RetryBody | None,
    Body(
        openapi_examples={
            "failed": {"summary": "What failed, in the same run", "value": {"which": "failed"}},
            "all": {"summary": "Everything, in a new run", "value": {"which": "all"}},
        }
    ),
]
