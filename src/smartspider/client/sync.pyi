"""Made by scripts/sync_stub.py."""

# ruff: noqa: A002 - what the API calls it
import os
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, Unpack, overload

from smartspider.client.handles import StreamEvent
from smartspider.client.live import LiveMessage
from smartspider.client.retry import ClientRetry
from smartspider.client.rows import PAGE_SIZE, Several
from smartspider.core.access import Role
from smartspider.core.cookies.sets import CookieOutcome
from smartspider.core.frontier.cause import ProblemKind
from smartspider.core.notifications import NotificationEvent
from smartspider.core.runs.run import RunState
from smartspider.core.runs.tuning import Tuning
from smartspider.operations.access import NewPassword, OptionalPassword, Secret, UserId
from smartspider.operations.files import FileCursor
from smartspider.operations.hosts import Host, Scope
from smartspider.operations.identities.cookies import CookieRef, LeaseDomain, LeaseId
from smartspider.operations.identities.proxies import CHECKED_URL
from smartspider.operations.identities.vault import Name
from smartspider.operations.logs import Around, Context, OfRun, OfTask
from smartspider.operations.nodes import Node, WorkerId
from smartspider.operations.results import RowCursor
from smartspider.operations.runs import DemoName, SeriesPoints, SeriesSince, SeriesUntil, WhichFailed
from smartspider.operations.tasks import Note, TaskBody, TaskText
from smartspider.views.access import MeView, NewTokenView, SessionView, TicketView, TokenView, UserView
from smartspider.views.arguments import (
    ExportArguments,
    FailureArguments,
    Fields,
    FileArguments,
    LogArguments,
    LogConditions,
    PageArguments,
    RunArguments,
    ScheduleArguments,
    TaskArguments,
    Where,
)
from smartspider.views.audit import AuditCheckView, AuditView
from smartspider.views.explain import ExplanationView, PageDetails, ProblemGroupView
from smartspider.views.hosts import HostGateView
from smartspider.views.identities.cookies import (
    CookieCheckView,
    CookieDetailsView,
    CookieLeaseView,
    CookieSetView,
    RenewedLeaseView,
    UploadedView,
)
from smartspider.views.identities.proxies import ProxyCheckView, ProxyView
from smartspider.views.identities.vault import RotatedView, SecretView, VaultView, VerifiedView
from smartspider.views.listed import Listed
from smartspider.views.logs import LogHistogram, LogView
from smartspider.views.nodes import ClockView, Drained, NodeTuned, NodeView, ScalingView
from smartspider.views.notifications import (
    ChannelView,
    DeliveryView,
    NotificationTargetMade,
    NotificationTargetView,
    TriedView,
)
from smartspider.views.params import Cursor, Id, IdempotencyKey, IfMatch, Limit, RunId, TaskId
from smartspider.views.preview import DryRun, PreviewView, SuggestionsView
from smartspider.views.results import (
    ChangeKind,
    CleaningView,
    CoverageView,
    DifferenceView,
    FileView,
    RejectView,
    ResultCountView,
    ResultView,
)
from smartspider.views.runs import (
    Begun,
    FailureView,
    LiveEvent,
    MetricsView,
    PageView,
    ReceiptView,
    Retried,
    RunView,
    SeriesView,
    StallView,
    Started,
    StatusView,
    TunedView,
)
from smartspider.views.schedules import Fired, FiringView, PreviewedTimes, ScheduleDetail, ScheduleView
from smartspider.views.search import SearchHit
from smartspider.views.server import AboutView, DoctorView, HealthView, OverviewView, ReadyView, TargetsView
from smartspider.views.tasks import TaskLine, TaskSaved, TaskView, VersionLine, VersionView

class SyncTasks:
    def apply(self, spec: TaskText | Path, *, note: str = "") -> SyncTaskHandle: ...
    def get(self, task: str) -> SyncTaskHandle: ...
    def iter(
        self, *, page_size: int = PAGE_SIZE, **only: Unpack[TaskArguments]
    ) -> Generator[SyncTaskHandle]: ...

class SyncRuns:
    def get(self, run_id: str) -> SyncRunHandle: ...

class SyncLogs:
    def iter(
        self,
        *,
        task_id: str | None = None,
        run_id: str | None = None,
        page_size: int = PAGE_SIZE,
        **only: Unpack[LogArguments],
    ) -> Generator[LogView]: ...
    def tail(
        self,
        *,
        task_id: str | None = None,
        run_id: str | None = None,
        after: str | None = None,
        **only: Unpack[LogArguments],
    ) -> Generator[LogView]: ...

class SyncLiveStream:
    def watch(self, watch_id: str, topic: str, *, after: str | int | None = None, **params: Any) -> None: ...
    def unwatch(self, watch_id: str) -> None: ...
    def messages(self) -> Generator[LiveMessage]: ...

class SyncTaskHandle:
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
        tuning: Tuning | None = None,
        idempotency_key: str | None = None,
    ) -> SyncRunHandle: ...
    def newest_run(self) -> SyncRunHandle | None: ...
    def follow(self) -> Generator[StreamEvent]: ...
    def delete(self) -> None: ...

class SyncRunHandle:
    id: str
    task_id: str
    @property
    def results(self) -> SyncResults: ...
    def status(self) -> StatusView: ...
    def metrics(self) -> MetricsView: ...
    def follow(
        self, *, after: int | None = None, snapshot: bool = False, forever: bool = False
    ) -> Generator[StreamEvent]: ...
    def wait(self, *, timeout_s: float | None = None, or_paused: bool = False) -> StatusView: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def stop(self) -> None: ...
    def cancel(self) -> None: ...
    def retry(
        self, *, which: Literal["failed", "all"] = "failed", **only: Unpack[FailureArguments]
    ) -> SyncRunHandle: ...
    def tune(self, **knobs: Unpack[Tuning]) -> TunedView: ...
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
        page_size: int = PAGE_SIZE,
    ) -> Generator[dict[str, Any]]: ...
    def count(self, *, where: Several = (), at_most: int = 100000) -> ResultCountView: ...
    def coverage(self, *, fields: Several | None = None, sample: int = 1000) -> CoverageView: ...
    def diff(self, *, with_: str | None = None, key: Several = "", limit: int = 100) -> DifferenceView: ...
    def export(
        self, path: str | os.PathLike[str], *, format: str | None = None, **options: Unpack[FileArguments]
    ) -> Path: ...

class _ServerCalls:
    def get_health(self) -> HealthView: ...
    def get_readiness(self) -> ReadyView: ...
    def get_overview(self) -> OverviewView: ...
    def get_about(self) -> AboutView: ...
    def get_doctor(self) -> DoctorView: ...
    def get_task_schema(self) -> dict[str, Any]: ...

class _SearchCalls:
    def search_all(self, q: str, *, limit: int = 20) -> Listed[SearchHit]: ...

class _AuditCalls:
    def list_audit(
        self,
        *,
        action: str | None = None,
        subject: str | None = None,
        actor: str | None = None,
        since: str | None = None,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> Listed[AuditView]: ...
    def verify_audit(self) -> AuditCheckView: ...

class _TokenCalls:
    def list_tokens(
        self, *, actor: str | None = None, limit: Limit = 100, cursor: Cursor = None
    ) -> Listed[TokenView]: ...
    def create_token(
        self,
        name: str,
        *,
        role: Role,
        scopes: Sequence[str] = (),
        expires_in_s: float | None = None,
        user: str | None = None,
        idempotency_key: IdempotencyKey = None,
    ) -> NewTokenView: ...
    def get_token(self, token_id: Id) -> TokenView: ...
    def revoke_token(self, token_id: Id) -> TokenView: ...

class _UserCalls:
    def list_users(self, *, limit: Limit = 100, cursor: Cursor = None) -> Listed[UserView]: ...
    def create_user(
        self,
        name: str,
        *,
        role: Role = "viewer",
        password: OptionalPassword = None,
        idempotency_key: IdempotencyKey = None,
    ) -> UserView: ...
    def get_user(self, user_id: UserId) -> UserView: ...
    def change_user(
        self,
        user_id: UserId,
        *,
        role: Role | None = None,
        password: OptionalPassword = None,
        enabled: bool | None = None,
    ) -> UserView: ...
    def delete_user(self, user_id: UserId) -> None: ...

class _NodeCalls:
    def list_nodes(self) -> Listed[NodeView]: ...
    def get_scaling(self) -> ScalingView: ...
    def get_clock(self) -> ClockView: ...
    def confirm_clock(self) -> ClockView: ...
    def tune_node(self, node: Node, *, slots: int, worker_id: WorkerId = None) -> NodeTuned: ...
    def drain_node(self, node: Node, *, worker_id: WorkerId = None) -> Drained: ...

class _HostCalls:
    def list_hosts(
        self, *, held: bool = False, limit: Limit = 100, cursor: Cursor = None
    ) -> Listed[HostGateView]: ...
    def hold_host(
        self, host: Host, *, seconds: float, reason: str = "", scope: Scope = None
    ) -> HostGateView: ...
    def resume_host(self, host: Host, *, scope: Scope = None) -> HostGateView: ...
    def slow_host(self, host: Host, *, delay_s: float, scope: Scope = None) -> HostGateView: ...

class _VaultCalls:
    def list_secrets(self, *, limit: Limit = 100, cursor: Cursor = None) -> Listed[SecretView]: ...
    def get_secret(self, name: Name) -> SecretView: ...
    def set_secret(self, name: Name, *, value: str, shared: bool | None = None) -> SecretView: ...
    def delete_secret(self, name: Name) -> None: ...
    def get_vault(self) -> VaultView: ...
    def verify_vault(self) -> VerifiedView: ...
    def rotate_vault(self) -> RotatedView: ...

class _CookieCalls:
    def upload_cookies(
        self,
        *,
        domain: str,
        cookies: str | Sequence[Any] | Mapping[str, Any],
        name: str = "",
        shared: bool | None = None,
        limit: int | None = None,
        check_url: str | None = None,
        signed_out: Mapping[str, Any] | None = None,
        idempotency_key: IdempotencyKey = None,
    ) -> UploadedView: ...
    def list_cookies(
        self, *, domain: str | None = None, limit: Limit = 100, cursor: Cursor = None
    ) -> Listed[CookieSetView]: ...
    def lease_cookies(self, *, domain: LeaseDomain) -> CookieLeaseView: ...
    def take_lease(self, *, domain: LeaseDomain) -> CookieLeaseView: ...
    def renew_lease(self, *, lease_id: LeaseId) -> RenewedLeaseView: ...
    def release_lease(self, *, lease_id: LeaseId, outcome: CookieOutcome = "ok") -> None: ...
    def get_cookies(self, cookie_id: CookieRef) -> CookieDetailsView: ...
    def delete_cookies(self, cookie_id: CookieRef) -> None: ...
    def check_cookies(self, cookie_id: CookieRef, *, url: str | None = None) -> CookieCheckView: ...
    def lock_cookies(self, cookie_id: CookieRef) -> CookieSetView: ...
    def unlock_cookies(self, cookie_id: CookieRef) -> CookieSetView: ...

class _ProxyCalls:
    def list_proxies(
        self, *, pool: str | None = None, limit: Limit = 100, cursor: Cursor = None
    ) -> Listed[ProxyView]: ...
    def add_proxy(
        self, *, url: str, pool: str = "default", weight: float = 1.0, idempotency_key: IdempotencyKey = None
    ) -> ProxyView: ...
    def remove_proxy(self, proxy_id: Id) -> None: ...
    def ban_proxy(self, proxy_id: Id, *, seconds: float = 3600.0) -> ProxyView: ...
    def check_proxy(self, proxy_id: Id, *, url: str = CHECKED_URL) -> ProxyCheckView: ...

class _NotificationCalls:
    def list_notifications(
        self, *, limit: Limit = 100, cursor: Cursor = None
    ) -> Listed[NotificationTargetView]: ...
    def create_notification(
        self,
        *,
        kind: str,
        address: str,
        events: Sequence[NotificationEvent],
        task_id: str | None = None,
        idempotency_key: IdempotencyKey = None,
    ) -> NotificationTargetMade: ...
    def list_channels(self) -> Listed[ChannelView]: ...
    def get_notification(self, notification_id: Id) -> NotificationTargetView: ...
    def change_notification(
        self,
        notification_id: Id,
        *,
        address: str | None = None,
        events: Sequence[NotificationEvent] | None = None,
        task_id: str | None = None,
        enabled: bool | None = None,
    ) -> NotificationTargetView: ...
    def delete_notification(self, notification_id: Id) -> None: ...
    def test_notification(
        self, notification_id: Id, *, idempotency_key: IdempotencyKey = None
    ) -> TriedView: ...
    def list_deliveries(
        self, notification_id: Id, *, limit: Limit = 100, cursor: Cursor = None
    ) -> Listed[DeliveryView]: ...

class _ScheduleCalls:
    def list_schedules(
        self, *, task_id: str | None = None, limit: Limit = 100, cursor: Cursor = None
    ) -> Listed[ScheduleView]: ...
    def create_schedule(
        self,
        task_id: str,
        *,
        enabled: bool = True,
        idempotency_key: IdempotencyKey = None,
        **rule: Unpack[ScheduleArguments],
    ) -> ScheduleDetail: ...
    def preview_schedule(self, **rule: Unpack[ScheduleArguments]) -> PreviewedTimes: ...
    def get_schedule(self, schedule_id: Id) -> ScheduleDetail: ...
    def change_schedule(
        self, schedule_id: Id, *, enabled: bool | None = None, **rule: Unpack[ScheduleArguments]
    ) -> ScheduleDetail: ...
    def delete_schedule(self, schedule_id: Id) -> None: ...
    def list_firings(
        self, schedule_id: Id, *, limit: Limit = 100, cursor: Cursor = None
    ) -> Listed[FiringView]: ...
    def fire_schedule(self, schedule_id: Id, *, idempotency_key: IdempotencyKey = None) -> Fired: ...

class _LogCalls:
    def list_logs(
        self,
        *,
        task_id: OfTask = None,
        run_id: OfRun = None,
        limit: Limit = 100,
        cursor: Cursor = None,
        around: Around = None,
        context: Context = 20,
        **only: Unpack[LogArguments],
    ) -> Listed[LogView]: ...
    def count_logs(
        self,
        *,
        task_id: OfTask = None,
        run_id: OfRun = None,
        start: str | None = None,
        end: str | None = None,
        points: int = 60,
        **only: Unpack[LogConditions],
    ) -> LogHistogram: ...
    def list_run_logs(
        self,
        run_id: RunId,
        *,
        limit: Limit = 100,
        cursor: Cursor = None,
        around: Around = None,
        context: Context = 20,
        **only: Unpack[LogArguments],
    ) -> Listed[LogView]: ...
    def list_task_logs(
        self, task_id: TaskId, *, limit: Limit = 100, cursor: Cursor = None, **only: Unpack[LogArguments]
    ) -> Listed[LogView]: ...
    def tail_logs(
        self,
        *,
        task_id: str | None = None,
        run_id: str | None = None,
        after: str | None = None,
        **only: Unpack[LogArguments],
    ) -> Generator[LogView]: ...
    def tail_run_logs(
        self, run_id: str, *, after: str | None = None, **only: Unpack[LogArguments]
    ) -> Generator[LogView]: ...

class _FileCalls:
    def list_run_files(
        self, run_id: RunId, *, limit: Limit = 100, cursor: FileCursor = None
    ) -> Listed[FileView]: ...
    def download_run_file(self, run_id: str, file_id: str) -> Generator[bytes]: ...

class _ResultCalls:
    def list_results(
        self,
        *,
        where: Where = (),
        fields: Fields = None,
        sort: str | None = None,
        limit: Limit = 100,
        cursor: RowCursor = None,
        **source: Unpack[RunArguments],
    ) -> Listed[ResultView]: ...
    def count_results(
        self, *, where: Where = (), at_most: int = 100000, **source: Unpack[RunArguments]
    ) -> ResultCountView: ...
    def get_coverage(
        self, *, fields: Fields = None, sample: int = 1000, **source: Unpack[RunArguments]
    ) -> CoverageView: ...
    def compare_results(
        self,
        *,
        with_: str | None = None,
        key: str = "",
        kind: ChangeKind | None = None,
        limit: Limit = 100,
        cursor: Cursor = None,
        **source: Unpack[RunArguments],
    ) -> DifferenceView: ...
    def list_rejects(
        self, *, limit: Limit = 100, cursor: Cursor = None, **source: Unpack[RunArguments]
    ) -> Listed[RejectView]: ...
    def list_cleaning(
        self,
        *,
        field: str | None = None,
        step: str | None = None,
        page_id: str | None = None,
        limit: Limit = 100,
        cursor: Cursor = None,
        **source: Unpack[RunArguments],
    ) -> Listed[CleaningView]: ...
    def export_results(
        self, *, format: str = "jsonl", **options: Unpack[ExportArguments]
    ) -> Generator[bytes]: ...
    def get_result(self, row_id: str) -> ResultView: ...

class _ExplainCalls:
    def explain_url(self, url: str, *, run_id: str | None = None) -> ExplanationView: ...
    def list_run_problems(
        self,
        run_id: RunId,
        *,
        kind: ProblemKind | Sequence[ProblemKind] = (),
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> Listed[ProblemGroupView]: ...
    def get_run_page(self, run_id: RunId, page_id: str) -> PageDetails: ...
    def preview_page(
        self,
        url: str,
        *,
        rules: str | Mapping[str, Any] | Sequence[Any] | None = None,
        selectors: Mapping[str, Any] | None = None,
        task: Mapping[str, Any] | None = None,
        page: str = "default",
    ) -> PreviewView: ...
    def suggest_tasks(self, url: str, *, headers: Mapping[str, str] | None = None) -> SuggestionsView: ...

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

class _TaskRunCalls:
    def start_task(
        self,
        task_id: TaskId,
        *,
        version: int | None = None,
        overlap: bool | None = None,
        tuning: Tuning | None = None,
        idempotency_key: IdempotencyKey = None,
    ) -> Begun: ...
    def start_demo(self, name: DemoName, *, idempotency_key: IdempotencyKey = None) -> Begun: ...
    def pause_task(self, task_id: TaskId) -> Started: ...
    def resume_task(self, task_id: TaskId) -> Started: ...
    def stop_task(self, task_id: TaskId) -> Started: ...
    def retry_task(
        self,
        task_id: TaskId,
        *,
        which: WhichFailed = "failed",
        idempotency_key: IdempotencyKey = None,
        **only: Unpack[FailureArguments],
    ) -> Retried: ...
    def get_task_status(self, task_id: TaskId) -> StatusView: ...
    def get_task_metrics(self, task_id: TaskId) -> MetricsView: ...

class _RunCalls:
    def list_runs(
        self,
        *,
        task_id: str | None = None,
        state: RunState | Sequence[RunState] = (),
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> Listed[RunView]: ...
    def get_series(
        self, *, since: SeriesSince = None, until: SeriesUntil = None, points: SeriesPoints = 120
    ) -> SeriesView: ...
    def get_run(self, run_id: RunId) -> StatusView: ...
    def tune_run(self, run_id: RunId, **tuning: Unpack[Tuning]) -> TunedView: ...
    def delete_run(self, run_id: RunId) -> None: ...
    def pause_run(self, run_id: RunId) -> Started: ...
    def resume_run(self, run_id: RunId) -> Started: ...
    def stop_run(self, run_id: RunId) -> Started: ...
    def cancel_run(self, run_id: RunId) -> Started: ...
    def retry_run(
        self,
        run_id: RunId,
        *,
        which: WhichFailed = "failed",
        idempotency_key: IdempotencyKey = None,
        **only: Unpack[FailureArguments],
    ) -> Retried: ...
    def get_run_metrics(self, run_id: RunId) -> MetricsView: ...
    def get_run_series(
        self,
        run_id: RunId,
        *,
        since: SeriesSince = None,
        until: SeriesUntil = None,
        points: SeriesPoints = 120,
    ) -> SeriesView: ...
    def explain_stall(self, run_id: RunId) -> StallView: ...
    def list_run_failures(
        self, run_id: RunId, *, limit: Limit = 100, cursor: Cursor = None
    ) -> Listed[FailureView]: ...
    def list_run_pages(
        self, run_id: RunId, *, limit: Limit = 100, cursor: Cursor = None, **only: Unpack[PageArguments]
    ) -> Listed[PageView]: ...
    def get_run_receipt(self, run_id: RunId) -> ReceiptView: ...

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
        self, *, limit: Limit = 100, cursor: Cursor = None, **only: Unpack[TaskArguments]
    ) -> Listed[TaskLine]: ...
    def get_task(self, task_id: TaskId) -> TaskView: ...
    def change_task(
        self, task_id: TaskId, task: TaskBody, *, note: Note = "", if_match: IfMatch = None
    ) -> TaskSaved: ...
    def delete_task(self, task_id: TaskId, *, if_match: IfMatch = None) -> None: ...
    def list_task_versions(
        self, task_id: TaskId, *, limit: int = 20, cursor: Cursor = None
    ) -> Listed[VersionLine]: ...
    def get_task_version(self, task_id: TaskId, number: int) -> VersionView: ...

class _SessionCalls:
    caller_address: str = ""
    def create_session(
        self, *, username: str | None = None, password: str | None = None, refresh_token: str | None = None
    ) -> SessionView: ...
    def get_me(self) -> MeView: ...
    def create_ticket(self, *, opens: str | None = None) -> TicketView: ...
    def end_session(self) -> None: ...
    def change_password(self, *, password: Secret, new_password: NewPassword) -> SessionView: ...

class _RemoteCalls:
    def list_metric_targets(self) -> list[TargetsView]: ...
    def get_metrics(self) -> str: ...
    def export_results(
        self, *, format: str = "jsonl", **options: Unpack[ExportArguments]
    ) -> Generator[bytes]: ...
    def download_run_file(self, run_id: str, file_id: str) -> Generator[bytes]: ...
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
    def tail_logs(
        self,
        *,
        task_id: str | None = None,
        run_id: str | None = None,
        after: str | None = None,
        **only: Unpack[LogArguments],
    ) -> Generator[LogView]: ...
    def tail_run_logs(
        self, run_id: str, *, after: str | None = None, **only: Unpack[LogArguments]
    ) -> Generator[LogView]: ...

class SyncClient(
    _RemoteCalls,
    _ServerCalls,
    _SearchCalls,
    _AuditCalls,
    _TokenCalls,
    _UserCalls,
    _NodeCalls,
    _HostCalls,
    _VaultCalls,
    _CookieCalls,
    _ProxyCalls,
    _NotificationCalls,
    _ScheduleCalls,
    _LogCalls,
    _FileCalls,
    _ResultCalls,
    _ExplainCalls,
    _LiveCalls,
    _TaskRunCalls,
    _RunCalls,
    _TaskCalls,
    _SessionCalls,
):
    tasks: SyncTasks
    runs: SyncRuns
    logs: SyncLogs
    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        ca_file: str | None = None,
        retry: ClientRetry = ClientRetry(),
    ) -> None: ...
    @classmethod
    def from_env(cls, environment: Mapping[str, str] | None = None) -> Self: ...
    def live(self) -> SyncLiveStream: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None: ...
