"""Write a file that arrives in pieces; it appears only when it is complete."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from smartspider.outputs.files import PendingFile
from smartspider.outputs.stdout import StdoutFile


async def write_pieces(pieces: AsyncGenerator[bytes], file: PendingFile | StdoutFile) -> None:
    """Write all pieces and give the file its name; remove it if they break off."""
    try:
        async with aclosing(pieces):
            async for piece in pieces:
                file.write(piece)
        file.seal()
        file.commit()
    except BaseException:
        file.abort()
        raise
