"""The log of a server process and its libraries: standard output, a file and the store.

structlog and the standard library's loggers share it; context variables (task_id, run_id, worker) are
added to every line.
"""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import structlog

from smartspider.core.errors import SmartSpiderError
from smartspider.core.logs import LEVELS, LogLine
from smartspider.core.redaction.masking import mask_view
from smartspider.core.redaction.redactor import Redactor
from smartspider.store.logs.store import LogStore
from smartspider.telemetry import log_files as files
from smartspider.telemetry.buffer import LogBuffer
from smartspider.telemetry.log_files import as_json, open_file, print_line
from smartspider.telemetry.subscribers import stop_tasks

QUIET = {"uvicorn.access": logging.WARNING, "uvicorn.error": logging.ERROR, "asyncio": logging.WARNING}
"""Minimum levels of verbose libraries."""
LAST_LINES_S = 1.0
"""Timeout of writing the last lines to the store; they are also in the file."""
LONGEST_TRACE = 8_000
_OWN = ("exc_info", "run_id", "task_id", "worker", "host", "url", "error", "level", "event", "text")


class ProcessLogDestinations(msgspec.Struct, frozen=True):
    """The destinations and the level of a process log. Without `logs` nothing is written to a store."""

    folder: Path
    logs: LogStore | None = None
    level: str = "info"
    is_printed: bool = True


@asynccontextmanager
async def process_log(
    destinations: ProcessLogDestinations,
    name: str,
    redactor: Redactor | None = None,
    *,
    last_lines_s: float = LAST_LINES_S,
) -> AsyncIterator[Redactor]:
    """Log everything this process logs until the block ends. Yields the redactor, to add secrets to."""
    redactor = redactor or Redactor()
    file = open_file(destinations.folder / files.FOLDER / f"{name}.jsonl", files.MAX_BYTES, files.KEPT_FILES)
    outputs: list[Callable[[LogLine], None]] = [lambda line: file.put(as_json(line))]
    if destinations.is_printed:
        outputs.append(print_line)
    tasks, flushes = [], []
    if destinations.logs is not None:
        buffer = LogBuffer(destinations.logs.add, name)
        outputs.append(buffer.add)
        tasks.append(asyncio.create_task(buffer.keep_flushing(), name="log lines"))
        flushes.append(buffer.flush)
    handler = LogLineHandler(name, redactor, outputs)
    restore = _install(handler, logging.getLevelNamesMapping()[destinations.level.upper()])
    try:
        yield redactor
    finally:
        restore()
        await stop_tasks(tasks, *flushes, within_s=last_lines_s)
        file.close()


class LogLineHandler(logging.Handler):
    """Converts log records to lines and passes them to the outputs; never raises."""

    def __init__(self, name: str, redactor: Redactor, outputs: list[Callable[[LogLine], None]]) -> None:
        super().__init__()
        self._worker = name
        self._redactor = redactor
        self._outputs = outputs

    def emit(self, record: logging.LogRecord) -> None:
        """Pass on a record."""
        try:
            line = self._line(record)
        except Exception:  # noqa: BLE001 - logging must not disturb the process
            return
        for output in self._outputs:
            output(line)

    def _line(self, record: logging.LogRecord) -> LogLine:
        bound = structlog.contextvars.get_contextvars()
        if isinstance(record.msg, dict):
            values: dict[str, Any] = {**bound, **record.msg}
            event = str(values.pop("event", record.name))
            text = str(values.pop("text", "")) or event
        else:
            values, event, text = {**bound}, record.name, record.getMessage()
        fields = {name: value for name, value in values.items() if name not in _OWN}
        error = values.get("error")
        if record.exc_info and record.exc_info[1] is not None:
            error = error or _kind(record.exc_info[1])
            fields["traceback"] = "".join(traceback.format_exception(record.exc_info[1]))[-LONGEST_TRACE:]
        line = LogLine(
            record.created or time.time(),
            _level(record.levelno),
            event,
            self._redactor.text(text),
            str(values.get("worker") or self._worker),
            task_id=_number(values.get("task_id")),
            run_id=_number(values.get("run_id")),
            host=self._redacted(values.get("host")),
            url=self._redacted(values.get("url")),
            error=self._redacted(error),
            fields=self._redactor.fields(fields),
        )
        return mask_view(line)  # the secrets of tasks are not known here

    def _redacted(self, value: object) -> str | None:
        return None if value is None else self._redactor.text(str(value))


def _install(handler: logging.Handler, level: int) -> Callable[[], None]:
    """Install the handler for all loggers; return a function that restores the previous state."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level, {name: logging.getLogger(name).level for name in QUIET})
    root.handlers = [handler]
    root.setLevel(level)
    for name, quiet in QUIET.items():
        logging.getLogger(name).setLevel(max(quiet, level))
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.processors.StackInfoRenderer(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )

    def restore() -> None:
        root.handlers, level_before, quiet_before = before
        root.setLevel(level_before)
        for name, own in quiet_before.items():
            logging.getLogger(name).setLevel(own)
        structlog.reset_defaults()

    return restore


def _kind(error: BaseException) -> str:
    return error.code if isinstance(error, SmartSpiderError) else type(error).__name__


def _level(number: int) -> int:
    return max((level for level in LEVELS.values() if level <= number), default=LEVELS["debug"])


def _number(value: object) -> int | None:
    text = str(value)
    return int(text) if value is not None and text.isascii() and text.isdecimal() and len(text) < 19 else None
