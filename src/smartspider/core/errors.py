"""The error tree. Exceptions of other libraries are translated into it where the library is called.

SmartSpiderError
├── RequestInvalid         the request is invalid; nothing was done
│   └── TaskInvalid        the task is invalid; nothing was started
├── NotBuilt               this installation does not support a feature that the task uses
├── NotFound               no such task, run or URL
├── NotAllowed             a rule forbids the operation (state, lock, edited task)
│   ├── Conflict           a conflict with the current state (name in use, newer version)
│   │   ├── Outdated       the object changed since it was read
│   │   ├── RequestInProgress  the same request is still being processed
│   │   └── LeadershipLost  another process is or was the leader since
│   ├── QuotaReached       the owner has as many of these as allowed
│   └── Forbidden          the principal lacks permission (role, scope, owner)
├── NotSignedIn            the token is missing, forged, expired or revoked
├── TooMany                too many requests
├── ServerUnreachable      the server of a command or client does not respond
├── DeliveryFailed         a notification could not be delivered
├── StoreUnavailable       the store cannot be used (locked, corrupt, too new, no response)
│   ├── StoreFull          the disk is full: reads work, writes fail
│   ├── OutcomeUnknown     the connection was lost during commit
│   └── FrontierUnavailable  a remote frontier cannot be used
│       ├── FrontierTaken  another installation uses it
│       ├── FrontierUnfit  its server responds, but its configuration makes it unusable
│       └── NotArmed       its server restarted, and the keeper has not filled it yet
├── WorkerVanished         a worker process exited without an orderly end
├── SettingInvalid         a SMARTSPIDER_* setting is invalid
└── FetchFailed            a request failed; `judge` turns it into a verdict
    ├── NameNotResolved, ConnectFailed, TlsFailed, ConnectionDropped, TimedOut
    ├── ProxyFailed        the proxy refused or failed; the host was not reached
    │   ├── ProxyRefused, PoolFailed
    │   └── ProxyRetry     another proxy of the pool is tried
    │       └── NoProxy    all proxies of the pool are banned
    ├── CookieRetry        other cookies of the vault are tried
    │   ├── CookiesSignedOut, NoCookies
    ├── BadResponse, TooLarge, BadEncoding, TooManyRedirects, BadRedirect
    ├── PrivateAddress, RobotsDisallowed, RobotsUnavailable, SecretsWithheld
    ├── EmptyAnswer        the answer has no content, though the task reads it
    ├── SignedOut          the site redirected to a login form
    ├── LayerFailed        a layer of the task refused the request or its answer, or failed
    │   └── TokenUnavailable  the request for the token of a layer failed for now
    ├── NotReadable        the page cannot be parsed as the task expects
    ├── PatternTimeout     a regular expression of the task takes too long
    └── Unreadable         reading the page takes more time or memory than a worker has
"""

from __future__ import annotations


class SmartSpiderError(Exception):
    """An error a user can act on: a message and a hint."""

    code = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def line(self) -> str:
        """Message and hint in one line."""
        return f"{self.message} ({self.hint})" if self.hint else self.message


class RequestInvalid(SmartSpiderError):
    """The request is invalid; `problems` locates the causes where known."""

    code = "request_invalid"

    def __init__(self, message: str, problems: tuple[Problem, ...] = (), *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.problems = problems


class TaskInvalid(RequestInvalid):
    """The task is invalid."""

    code = "task_invalid"


class Problem:
    """A problem of a request or task: path of the key, message, hint."""

    __slots__ = ("hint", "message", "path")

    def __init__(self, path: str, message: str, hint: str = "") -> None:
        self.path = path
        self.message = message
        self.hint = hint

    @property
    def line(self) -> str:
        """Message and hint in one line."""
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def __repr__(self) -> str:
        return f"Problem({self.path!r}, {self.message!r}, {self.hint!r})"


class NotBuilt(SmartSpiderError):
    """This installation does not support a feature that the task uses."""

    code = "not_built"


class NotFound(SmartSpiderError):
    """No object has this name or id."""

    code = "not_found"


class NotAllowed(SmartSpiderError):
    """A rule forbids the operation in the current state."""

    code = "not_allowed"


class Conflict(NotAllowed):
    """The operation conflicts with the current state."""

    code = "conflict"


class Outdated(Conflict):
    """The object changed since it was read."""

    code = "outdated"


class RequestInProgress(Conflict):
    """The same request is still being processed."""

    code = "unanswered"


class LeadershipLost(Conflict):
    """Another process is or was the leader since."""

    code = "term_over"


class QuotaReached(NotAllowed):
    """The owner has as many of these as the installation allows."""

    code = "quota_reached"


class Forbidden(NotAllowed):
    """The principal lacks permission."""

    code = "forbidden"


class NotSignedIn(SmartSpiderError):
    """The token is missing, forged, expired or revoked."""

    code = "not_signed_in"


class TooMany(SmartSpiderError):
    """Too many requests; retry after `retry_after_s`."""

    code = "too_many"

    def __init__(self, message: str, *, retry_after_s: float = 1.0, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s


class ServerUnreachable(SmartSpiderError):
    """The server does not respond, or is not a SmartSpider server."""

    code = "server_unreachable"


class DeliveryFailed(SmartSpiderError):
    """A notification could not be delivered; the message states the cause without secrets."""

    code = "undelivered"


class StoreUnavailable(SmartSpiderError):
    """The store cannot be used."""

    code = "store_unavailable"


class StoreFull(StoreUnavailable):
    """The store's disk is full: reads work, writes fail until space is freed."""

    code = "store_full"


class OutcomeUnknown(StoreUnavailable):
    """The connection was lost during commit: the transaction may or may not have been applied."""

    code = "outcome_unknown"


class FrontierUnavailable(StoreUnavailable):
    """A remote frontier does not respond, or must not be used.

    `has_arrived` is True if the call may have been executed.
    """

    code = "frontier_unavailable"

    def __init__(self, message: str, *, hint: str = "", has_arrived: bool = True) -> None:
        super().__init__(message, hint=hint)
        self.has_arrived = has_arrived


class FrontierTaken(FrontierUnavailable):
    """Another installation uses this frontier; each installation needs its own."""

    code = "frontier_taken"


class FrontierUnfit(FrontierUnavailable):
    """The frontier's server responds, but its configuration makes it unusable.

    `reason` states the cause without the address; with `loses_keys` its content cannot be trusted.
    """

    code = "frontier_unfit"

    def __init__(self, reason: str, *, hint: str = "", place: str = "", loses_keys: bool = False) -> None:
        super().__init__(f"the frontier's Redis at {place} {reason}" if place else reason, hint=hint)
        self.reason = reason
        self.loses_keys = loses_keys


class NotArmed(FrontierUnavailable):
    """The frontier waits for the keeper. Retry shortly."""

    code = "not_armed"


class SettingInvalid(SmartSpiderError):
    """A setting of the installation is invalid."""

    code = "setting_invalid"


class WorkerVanished(SmartSpiderError):
    """A worker process exited without an orderly end."""

    code = "worker_vanished"


class FetchFailed(SmartSpiderError):
    """A request yielded no page."""

    code = "fetch_failed"


class NameNotResolved(FetchFailed):
    """DNS has no address for the host."""

    code = "dns"


class ConnectFailed(FetchFailed):
    """The connection to the host failed."""

    code = "connect"


class TlsFailed(FetchFailed):
    """The TLS handshake failed or the certificate is invalid."""

    code = "tls"


class ConnectionDropped(FetchFailed):
    """The server closed the connection before the response was complete."""

    code = "dropped"


class BadResponse(FetchFailed):
    """The response is not HTTP, or contradicts itself."""

    code = "bad_response"


class TimedOut(FetchFailed):
    """The request timed out."""

    code = "timeout"


class ProxyFailed(FetchFailed):
    """The proxy refused or failed; the host was not reached."""

    code = "proxy"


class ProxyRefused(ProxyFailed):
    """The proxy could not or would not reach the host: one of the two failed."""

    code = "proxy_refused"


class ProxyRetry(ProxyFailed):
    """A proxy of a pool failed. The request is tried again after `wait_s`, through another one."""

    code = "proxy_retry"
    wait_s = 0.0


class PoolFailed(ProxyFailed):
    """Each proxy of a pool failed for the URL."""

    code = "pool_failed"


class NoProxy(ProxyRetry):
    """All proxies of the pool are banned."""

    code = "no_proxy"
    wait_s = 1.0


class CookieRetry(FetchFailed):
    """The cookies of a request could not be used. It is tried again after `wait_s`, with others if there are
    any.
    """

    code = "identity_retry"
    wait_s = 0.0


class CookiesSignedOut(CookieRetry):
    """The site no longer knows the login of a set of cookies, which was set aside."""

    code = "identity_invalid"

    def __init__(
        self, message: str, *, hint: str = "", set_id: int = 0, title: str = "", owner: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.set_id, self.title, self.owner = set_id, title, owner


class NoCookies(CookieRetry):
    """No set of cookies is free for a request."""

    code = "no_identity"
    wait_s = 1.0


class TooLarge(FetchFailed):
    """The body is larger than `max_bytes`."""

    code = "too_large"


class BadEncoding(FetchFailed):
    """The compressed body cannot be decompressed."""

    code = "bad_encoding"


class TooManyRedirects(FetchFailed):
    """The redirect chain is too long or circular."""

    code = "redirects"


class SecretsWithheld(FetchFailed):
    """The request was not sent: its body may hold secrets, which the task binds to other origins."""

    code = "secrets_withheld"


class BadRedirect(FetchFailed):
    """The redirect target is not an http(s) URL."""

    code = "bad_redirect"


class PrivateAddress(FetchFailed):
    """The host has a private address that is not allowed."""

    code = "private_address"


class RobotsDisallowed(FetchFailed):
    """robots.txt disallows the URL; `rule` is the matching line."""

    code = "robots"


class RobotsUnavailable(FetchFailed):
    """robots.txt is unavailable (5xx), so nothing may be fetched for now."""

    code = "robots_unavailable"


class NotReadable(FetchFailed):
    """The page cannot be parsed as the task expects, such as binary data served as HTML."""

    code = "not_readable"


class LayerFailed(FetchFailed):
    """A layer of the task refused the request or its answer, or failed; the message begins with its name."""

    code = "layer_failed"


class TokenUnavailable(LayerFailed):
    """The request for the token of a layer failed for now; neither the URL nor its host did."""

    code = "token_unavailable"


class EmptyAnswer(FetchFailed):
    """The answer has no content, though the task reads it."""

    code = "empty_answer"


class SignedOut(FetchFailed):
    """The site redirected to a login form."""

    code = "signed_out"


class PatternTimeout(FetchFailed):
    """A regular expression of a person took too long on a text."""

    code = "pattern_timeout"
    path = ""
    """The place of the pattern in the task, if known; the message begins with it."""

    def at(self, path: str) -> PatternTimeout:
        """Return the error with the place of the pattern, unless it has one."""
        if self.path:
            return self
        placed = PatternTimeout(f"{path}: {self.message}", hint=self.hint)
        placed.path = path
        return placed


class Unreadable(FetchFailed):
    """Reading the page takes more time or memory than a worker has."""

    code = "unreadable"
