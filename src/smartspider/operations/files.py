"""The files that runs downloaded."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated, Any

from smartspider.operations.operation import Operations, operation
from smartspider.services.inputs import parse_id
from smartspider.views.listed import Listed
from smartspider.views.params import Limit, Param, RunId
from smartspider.views.results import FileView

FileId = Annotated[str, Param(about="The id of a file of the run.", rules={"max_length": 40})]
FileCursor = Annotated[
    str | None,
    Param(about="`next` of the previous page.", rules={"max_length": 40, "pattern": "^[0-9a-f]*$"}),
]
FILE = {
    "id": "5ecd9c64b8f3a1d0f6b1a2c3d4e5f607",
    "run_id": "1",
    "url": "https://shop.example.com/images/tea.png",
    "path": "files/9f86d081884c7d65.png",
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "bytes": 4096,
    "type": "image/png",
    "downloaded_at": "2026-01-02T03:04:05.678Z",
}


class FileOperations(Operations):
    """The files that a run downloaded, by the step `download`."""

    @operation(
        "GET",
        "/api/runs/{run_id}/files",
        needs=("results", "read"),
        summary="List the files that a run downloaded",
        answer="A page of files",
        example={"items": [FILE], "next": None},
        is_heavy=True,
    )
    async def list_run_files(
        self, run_id: RunId, *, limit: Limit = 100, cursor: FileCursor = None
    ) -> Listed[FileView]:
        """List files in a fixed order that is not that of their downloads."""
        from smartspider.services.results.files import list_files

        return await list_files(self.installation, parse_id(run_id, "run"), cursor=cursor, limit=limit)

    async def download_run_file(self, run_id: str, file_id: str) -> AsyncGenerator[bytes]:
        """Yield a file that a run downloaded, in pieces; raise an error if it breaks off."""
        export = await self._send_file(run_id, file_id)
        async for piece in export.chunks:
            yield piece

    @operation(
        "GET",
        "/api/runs/{run_id}/files/{file_id}",
        needs=("results", "read"),
        summary="Download a file of a run",
        answer="The file",
        name="download_run_file",
        is_file=True,
    )
    async def _send_file(self, run_id: RunId, file_id: FileId) -> Any:
        """Send a file that the run downloaded, as it came from the site. The media type is always that of
        plain bytes; `type` in the list is the one that the site gave.
        """
        from smartspider.services.results.files import send_file

        slot = self.services.exports.slots.acquire(self.principal.name)
        return await send_file(self.installation, parse_id(run_id, "run"), file_id, slot)
