"""Made by scripts/sync_stub.py."""

# ruff: noqa: A002 - what the API calls it
import os
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, Unpack, overload

from smartspider.client.handles import Event
from smartspider.client.operations.tasks import TaskText
from smartspider.client.rows import Several
from smartspider.core.access import Role
from smartspider.core.notices import NoticeKind, NoticeName
from smartspider.core.runs import RunState
from smartspider.core.verdict import UrlState
from smartspider.views.access import MeView, NewTokenView, SessionView, TicketView, TokenView, UserView
from smartspider.views.asked import ExportWords, FileWords, KnobWords, LogWords, RuleWords, RunWords
from smartspider.views.audit import AuditCheckView, AuditView
from smartspider.views.explain import ExplanationView
from smartspider.views.health import HealthView, ReadyView, TargetsView
from smartspider.views.hosts import HostGateView
from smartspider.views.listed import Listed
from smartspider.views.live import LiveEvent
from smartspider.views.logs import LogView
from smartspider.views.nodes import Drained, NodeTuned, NodeView
from smartspider.views.notices import DeliveryView, NoticeTargetMade, NoticeTargetView, TriedView
from smartspider.views.preview import DryRun, PreviewView
from smartspider.views.results import (
    CleaningView,
    CoverageView,
    DifferenceView,
    RejectView,
    ResultCountView,
    ResultView,
)
from smartspider.views.runs import (
    Begun,
    FailureView,
    MetricsView,
    PageView,
    ReceiptView,
    Retried,
    RunView,
    StallView,
    Started,
    StatusView,
    TunedView,
)
from smartspider.views.scaling import ScalingView
from smartspider.views.schedules import Fired, FiringView, PreviewedTimes, ScheduleDetail, ScheduleView
from smartspider.views.tasks import TaskLine, TaskSaved, TaskView, VersionLine, VersionView

class SyncTasks:
    def apply(self, spec: TaskText | Path, *, note: str = "") -> SyncTask: ...
    def get(self, task: str) -> SyncTask: ...
    def iter(self, *, name: str = "") -> Generator[SyncTask]: ...

class SyncRuns:
    def get(self, run_id: str) -> SyncRun: ...

class SyncLogs:
    def iter(
        self, *, task_id: str | None = None, run_id: str | None = None, **only: Unpack[LogWords]
    ) -> Generator[LogView]: ...
    def tail(
        self,
        *,
        task_id: str | None = None,
        run_id: str | None = None,
        after: str | None = None,
        **only: Unpack[LogWords],
    ) -> Generator[LogView]: ...

class SyncTask:
    id: str
    name: str
    version: int
    saved: TaskSaved | None
    @property
    def results(self) -> SyncResults: ...
    def show(self) -> TaskView: ...
    def start(
        self,
        *,
        version: int | None = None,
        overlap: bool | None = None,
        tuning: KnobWords | None = None,
        idempotency_key: str | None = None,
    ) -> SyncRun: ...
    def newest_run(self) -> SyncRun | None: ...
    def follow(self) -> Generator[Event]: ...
    def delete(self) -> None: ...

class SyncRun:
    id: str
    task_id: str
    @property
    def results(self) -> SyncResults: ...
    def status(self) -> StatusView: ...
    def metrics(self) -> MetricsView: ...
    def follow(
        self, *, after: int | None = None, snapshot: bool = False, forever: bool = False
    ) -> Generator[Event]: ...
    def wait(self, *, timeout_s: float | None = None, or_paused: bool = False) -> StatusView: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def stop(self) -> None: ...
    def cancel(self) -> None: ...
    def retry(self, *, which: Literal["failed", "all"] = "failed") -> SyncRun: ...
    def tune(self, **knobs: Unpack[KnobWords]) -> TunedView: ...
    def delete(self) -> None: ...
    def why(self, url: str) -> ExplanationView: ...
    def stall(self) -> StallView: ...

class SyncResults:
    def iter(
        self,
        *,
        where: Several = (),
        fields: Several | None = None,
        sort: str | None = None,
        envelope: bool = False,
    ) -> Generator[dict[str, Any]]: ...
    def count(self, *, where: Several = (), at_most: int = 100000) -> ResultCountView: ...
    def coverage(self, *, fields: Several | None = None, sample: int = 1000) -> CoverageView: ...
    def diff(self, *, with_: str | None = None, key: Several = "", limit: int = 100) -> DifferenceView: ...
    def export(
        self, path: str | os.PathLike[str], *, format: str | None = None, **how: Unpack[FileWords]
    ) -> Path: ...

class _AuthCalls:
    def create_session(
        self, *, username: str | None = None, password: str | None = None, refresh_token: str | None = None
    ) -> SessionView: ...
    def get_me(self) -> MeView: ...
    def create_ticket(self) -> TicketView: ...
    def end_session(self) -> None: ...
    def change_password(self, *, password: str, new_password: str) -> SessionView: ...

class _TaskCalls:
    @overload
    def create_task(
        self,
        task: TaskText,
        *,
        dry_run: Literal[False] = False,
        note: str = "",
        idempotency_key: str | None = None,
    ) -> TaskSaved: ...
    @overload
    def create_task(
        self, task: TaskText, *, dry_run: Literal[True], preview: bool = False, pages: int = 3
    ) -> DryRun: ...
    def list_tasks(
        self, *, name: str = "", limit: int = 100, cursor: str | None = None
    ) -> Listed[TaskLine]: ...
    def get_task(self, task_id: str) -> TaskView: ...
    def change_task(
        self, task_id: str, task: TaskText, *, note: str = "", if_match: int | str | None = None
    ) -> TaskSaved: ...
    def delete_task(self, task_id: str, *, if_match: int | str | None = None) -> None: ...
    def list_task_versions(
        self, task_id: str, *, limit: int = 20, cursor: str | None = None
    ) -> Listed[VersionLine]: ...
    def get_task_version(self, task_id: str, number: int) -> VersionView: ...

class _TaskRunCalls:
    def start_task(
        self,
        task_id: str,
        *,
        version: int | None = None,
        overlap: bool | None = None,
        tuning: KnobWords | None = None,
        idempotency_key: str | None = None,
    ) -> Begun: ...
    def pause_task(self, task_id: str) -> Started: ...
    def resume_task(self, task_id: str) -> Started: ...
    def stop_task(self, task_id: str) -> Started: ...
    def retry_task(
        self, task_id: str, *, which: Literal["failed", "all"] = "failed", idempotency_key: str | None = None
    ) -> Retried: ...
    def get_task_status(self, task_id: str) -> StatusView: ...
    def get_task_metrics(self, task_id: str) -> MetricsView: ...

class _RunCalls:
    def list_runs(
        self,
        *,
        task_id: str | None = None,
        state: RunState | Sequence[RunState] = (),
        limit: int = 100,
        cursor: str | None = None,
    ) -> Listed[RunView]: ...
    def get_run(self, run_id: str) -> StatusView: ...
    def tune_run(self, run_id: str, **knobs: Unpack[KnobWords]) -> TunedView: ...
    def delete_run(self, run_id: str) -> None: ...
    def pause_run(self, run_id: str) -> Started: ...
    def resume_run(self, run_id: str) -> Started: ...
    def stop_run(self, run_id: str) -> Started: ...
    def cancel_run(self, run_id: str) -> Started: ...
    def retry_run(
        self, run_id: str, *, which: Literal["failed", "all"] = "failed", idempotency_key: str | None = None
    ) -> Retried: ...
    def get_run_metrics(self, run_id: str) -> MetricsView: ...
    def explain_stall(self, run_id: str) -> StallView: ...
    def list_run_failures(
        self, run_id: str, *, limit: int = 100, cursor: str | None = None
    ) -> Listed[FailureView]: ...
    def list_run_pages(
        self, run_id: str, *, state: UrlState | None = None, limit: int = 100, cursor: str | None = None
    ) -> Listed[PageView]: ...
    def get_run_receipt(self, run_id: str) -> ReceiptView: ...

class _LiveCalls:
    def follow_run(
        self, run_id: str, *, after: int | None = None, follow: bool = False, snapshot: bool = False
    ) -> Generator[LiveEvent]: ...
    def watch_task(
        self,
        task_id: str,
        *,
        run_id: str | None = None,
        after: int | None = None,
        follow: bool = True,
        snapshot: bool = False,
    ) -> Generator[LiveEvent]: ...

class _ResultCalls:
    def list_results(
        self,
        *,
        where: str | Sequence[str] = (),
        fields: str | None = None,
        sort: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
        **of: Unpack[RunWords],
    ) -> Listed[ResultView]: ...
    def count_results(
        self, *, where: str | Sequence[str] = (), at_most: int = 100000, **of: Unpack[RunWords]
    ) -> ResultCountView: ...
    def get_coverage(
        self, *, fields: str | None = None, sample: int = 1000, **of: Unpack[RunWords]
    ) -> CoverageView: ...
    def compare_results(
        self, *, with_: str | None = None, key: str = "", limit: int = 100, **of: Unpack[RunWords]
    ) -> DifferenceView: ...
    def list_rejects(
        self, *, limit: int = 100, cursor: str | None = None, **of: Unpack[RunWords]
    ) -> Listed[RejectView]: ...
    def list_cleaning(
        self,
        *,
        field: str | None = None,
        step: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
        **of: Unpack[RunWords],
    ) -> Listed[CleaningView]: ...
    def export_results(self, *, format: str = "jsonl", **how: Unpack[ExportWords]) -> Generator[bytes]: ...

class _LogCalls:
    def list_logs(
        self,
        *,
        task_id: str | None = None,
        run_id: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
        **only: Unpack[LogWords],
    ) -> Listed[LogView]: ...
    def list_run_logs(
        self, run_id: str, *, limit: int = 100, cursor: str | None = None, **only: Unpack[LogWords]
    ) -> Listed[LogView]: ...
    def list_task_logs(
        self, task_id: str, *, limit: int = 100, cursor: str | None = None, **only: Unpack[LogWords]
    ) -> Listed[LogView]: ...
    def tail_logs(
        self,
        *,
        task_id: str | None = None,
        run_id: str | None = None,
        after: str | None = None,
        **only: Unpack[LogWords],
    ) -> Generator[LogView]: ...
    def tail_run_logs(
        self, run_id: str, *, after: str | None = None, **only: Unpack[LogWords]
    ) -> Generator[LogView]: ...

class _ScheduleCalls:
    def list_schedules(
        self, *, task_id: str | None = None, limit: int = 100, cursor: str | None = None
    ) -> Listed[ScheduleView]: ...
    def create_schedule(
        self,
        task_id: str,
        *,
        enabled: bool = True,
        idempotency_key: str | None = None,
        **rule: Unpack[RuleWords],
    ) -> ScheduleDetail: ...
    def preview_schedule(self, **rule: Unpack[RuleWords]) -> PreviewedTimes: ...
    def get_schedule(self, schedule_id: str) -> ScheduleDetail: ...
    def change_schedule(
        self, schedule_id: str, *, enabled: bool | None = None, **rule: Unpack[RuleWords]
    ) -> ScheduleDetail: ...
    def delete_schedule(self, schedule_id: str) -> None: ...
    def list_firings(
        self, schedule_id: str, *, limit: int = 100, cursor: str | None = None
    ) -> Listed[FiringView]: ...
    def fire_schedule(self, schedule_id: str, *, idempotency_key: str | None = None) -> Fired: ...

class _NoticeCalls:
    def list_notices(self, *, limit: int = 100, cursor: str | None = None) -> Listed[NoticeTargetView]: ...
    def create_notice(
        self,
        *,
        kind: NoticeKind,
        address: str,
        events: Sequence[NoticeName],
        task_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> NoticeTargetMade: ...
    def get_notice(self, notice_id: str) -> NoticeTargetView: ...
    def delete_notice(self, notice_id: str) -> None: ...
    def test_notice(self, notice_id: str, *, idempotency_key: str | None = None) -> TriedView: ...
    def list_deliveries(
        self, notice_id: str, *, limit: int = 100, cursor: str | None = None
    ) -> Listed[DeliveryView]: ...

class _ExplainCalls:
    def explain_url(self, url: str, *, run_id: str | None = None) -> ExplanationView: ...
    def preview_page(
        self,
        url: str,
        *,
        rules: str | Mapping[str, Any] | Sequence[Any] | None = None,
        selectors: Mapping[str, Any] | None = None,
        task: Mapping[str, Any] | None = None,
        page: str = "default",
    ) -> PreviewView: ...

class _HostCalls:
    def list_hosts(
        self, *, held: bool = False, limit: int = 100, cursor: str | None = None
    ) -> Listed[HostGateView]: ...
    def hold_host(self, host: str, *, seconds: float, reason: str = "") -> HostGateView: ...
    def resume_host(self, host: str) -> HostGateView: ...
    def slow_host(self, host: str, *, delay_s: float) -> HostGateView: ...

class _NodeCalls:
    def list_nodes(self) -> Listed[NodeView]: ...
    def get_scaling(self) -> ScalingView: ...
    def drain_node(self, node: str, *, worker_id: int | None = None) -> Drained: ...
    def tune_node(self, node: str, *, slots: int, worker_id: int | None = None) -> NodeTuned: ...
    def get_health(self) -> HealthView: ...
    def get_readiness(self) -> ReadyView: ...
    def list_metric_targets(self) -> list[TargetsView]: ...
    def get_metrics(self) -> str: ...
    def get_task_schema(self) -> dict[str, Any]: ...

class _UserCalls:
    def list_users(self, *, limit: int = 100, cursor: str | None = None) -> Listed[UserView]: ...
    def create_user(
        self,
        name: str,
        *,
        role: Role = "viewer",
        password: str | None = None,
        idempotency_key: str | None = None,
    ) -> UserView: ...
    def get_user(self, user_id: str) -> UserView: ...
    def change_user(
        self,
        user_id: str,
        *,
        role: Role | None = None,
        password: str | None = None,
        enabled: bool | None = None,
    ) -> UserView: ...
    def delete_user(self, user_id: str) -> None: ...

class _TokenCalls:
    def list_tokens(
        self, *, actor: str | None = None, limit: int = 100, cursor: str | None = None
    ) -> Listed[TokenView]: ...
    def create_token(
        self,
        name: str,
        *,
        role: Role,
        scopes: Sequence[str] = (),
        expires_in_s: float | None = None,
        user: str | None = None,
        idempotency_key: str | None = None,
    ) -> NewTokenView: ...
    def get_token(self, token_id: str) -> TokenView: ...
    def revoke_token(self, token_id: str) -> TokenView: ...

class _AuditCalls:
    def list_audit(
        self,
        *,
        action: str | None = None,
        subject: str | None = None,
        actor: str | None = None,
        since: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Listed[AuditView]: ...
    def verify_audit(self) -> AuditCheckView: ...

class SyncClient(
    _AuthCalls,
    _TaskCalls,
    _TaskRunCalls,
    _RunCalls,
    _LiveCalls,
    _ResultCalls,
    _LogCalls,
    _ScheduleCalls,
    _NoticeCalls,
    _ExplainCalls,
    _HostCalls,
    _NodeCalls,
    _UserCalls,
    _TokenCalls,
    _AuditCalls,
):
    tasks: SyncTasks
    runs: SyncRuns
    logs: SyncLogs
    def __init__(self, url: str, token: str | None = None, *, ca_file: str | None = None) -> None: ...
    @classmethod
    def from_env(cls, environment: Mapping[str, str] | None = None) -> Self: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None: ...
