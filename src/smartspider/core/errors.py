"""The error tree. Foreign exceptions are translated into it once, where the library is called.

SmartSpiderError
├── RequestInvalid         what was asked means nothing; nothing was done
│   └── TaskInvalid        the task, or a part of it, is wrong; nothing was started
├── NotBuilt               the task asks for a capability this version does not have
├── NotFound               a task, run or URL that is not there
├── NotAllowed             refused by a rule of the product (state, lock, edited task)
│   ├── Conflict           somebody else was there first (a name that is taken, a newer version)
│   │   ├── Outdated       what was to be changed has changed meanwhile
│   │   ├── Unanswered     the same request is worked on, and its answer will come
│   │   └── TermOver       somebody else leads, or did since
│   └── Forbidden          refused to this principal (role, scope, owner)
├── NotSignedIn            nobody, or nobody we know
├── TooMany                too many requests for now
├── ServerUnreachable      the server a command or program talks to does not answer
├── Undelivered            a notice did not arrive
├── StoreUnavailable       the store cannot be used (locked, corrupt, too new, no answer)
│   ├── StoreFull          its disk is full: it can be read, and takes no writes
│   ├── OutcomeUnknown     the end of a transaction was sent and no answer came
│   └── FrontierUnavailable  a frontier apart from the store cannot be used
│       ├── FrontierTaken  another installation uses it
│       ├── FrontierUnfit  its server answers and must not be used as it is set up
│       └── NotArmed       its server began anew, and the keeper has not told it what is open yet
├── SettingInvalid         a SMARTSPIDER_* setting does not mean anything
└── FetchFailed            one request failed; `judge` turns it into a verdict
    ├── NameNotResolved, ConnectFailed, TlsFailed, ConnectionDropped, TimedOut, ProxyFailed
    ├── TooLarge, BadEncoding, TooManyRedirects, BadRedirect
    ├── PrivateAddress, RobotsDisallowed, RobotsUnavailable
    └── NotReadable        the page came, but it cannot be read as what the task expects
"""

from __future__ import annotations


class SmartSpiderError(Exception):
    """Something a person can act on: what happened, and what to try."""

    code = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def line(self) -> str:
        """What happened and what to try, in one line."""
        return f"{self.message} ({self.hint})" if self.hint else self.message


class RequestInvalid(SmartSpiderError):
    """What was asked does not mean anything; `problems` says where, as far as that is known."""

    code = "request_invalid"

    def __init__(self, message: str, problems: tuple[Problem, ...] = (), *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.problems = problems


class TaskInvalid(RequestInvalid):
    """The task does not mean anything runnable."""

    code = "task_invalid"


class Problem:
    """One thing wrong with what was sent: the path of the key, what is wrong, what to try."""

    __slots__ = ("hint", "message", "path")

    def __init__(self, path: str, message: str, hint: str = "") -> None:
        self.path = path
        self.message = message
        self.hint = hint

    @property
    def line(self) -> str:
        """What is wrong and what to try, in one line."""
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def __repr__(self) -> str:
        return f"Problem({self.path!r}, {self.message!r}, {self.hint!r})"


class NotBuilt(SmartSpiderError):
    """The task asks for something this installation cannot do."""

    code = "not_built"


class NotFound(SmartSpiderError):
    """Nothing by that name or id."""

    code = "not_found"


class NotAllowed(SmartSpiderError):
    """A rule forbids this now."""

    code = "not_allowed"


class Conflict(NotAllowed):
    """What is there already, or has changed meanwhile, forbids this."""

    code = "conflict"


class Outdated(Conflict):
    """What was to be changed is not what it was when it was looked at."""

    code = "outdated"


class RequestInProgress(Conflict):
    """The same request is being worked on; its answer will come."""

    code = "unanswered"


class LeadershipLost(Conflict):
    """Somebody else leads, or did since."""

    code = "term_over"


class Forbidden(NotAllowed):
    """Not for this principal."""

    code = "forbidden"


class NotSignedIn(SmartSpiderError):
    """No token, or one that is forged, expired or revoked."""

    code = "not_signed_in"


class TooMany(SmartSpiderError):
    """Too many requests for now; `retry_after_s` says for how long."""

    code = "too_many"

    def __init__(self, message: str, *, retry_after_s: float = 1.0, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s


class ServerUnreachable(SmartSpiderError):
    """The server does not answer, or not as one of ours does."""

    code = "server_unreachable"


class DeliveryFailed(SmartSpiderError):
    """A notice did not arrive; the message says why, without a secret."""

    code = "undelivered"


class StoreUnavailable(SmartSpiderError):
    """The store cannot be used as it is."""

    code = "store_unavailable"


class StoreFull(StoreUnavailable):
    """The disk of the store is full: it can be read, and takes no writes until there is room."""

    code = "store_full"


class OutcomeUnknown(StoreUnavailable):
    """The end of a transaction was sent and no answer came: it may be kept or not."""

    code = "outcome_unknown"


class FrontierUnavailable(StoreUnavailable):
    """A frontier apart from the store does not answer, or must not be used as it is.

    `has_arrived` says whether the call may have come there all the same.
    """

    code = "frontier_unavailable"

    def __init__(self, message: str, *, hint: str = "", has_arrived: bool = True) -> None:
        super().__init__(message, hint=hint)
        self.has_arrived = has_arrived


class FrontierTaken(FrontierUnavailable):
    """Another installation uses that place; each needs one of its own."""

    code = "frontier_taken"


class FrontierUnfit(FrontierUnavailable):
    """The server of the frontier answers and must not be used as it is set up.

    `reason` says why without naming the place; with `loses_keys` what it holds cannot be believed.
    """

    code = "frontier_unfit"

    def __init__(self, reason: str, *, hint: str = "", place: str = "", loses_keys: bool = False) -> None:
        super().__init__(f"the frontier's Redis at {place} {reason}" if place else reason, hint=hint)
        self.reason = reason
        self.loses_keys = loses_keys


class NotArmed(FrontierUnavailable):
    """The frontier waits for the keeper; what was asked is asked again a moment later."""

    code = "not_armed"


class SettingInvalid(SmartSpiderError):
    """A setting of the installation is wrong."""

    code = "setting_invalid"


class FetchFailed(SmartSpiderError):
    """One request did not give a page."""

    code = "fetch_failed"


class NameNotResolved(FetchFailed):
    """DNS has no address for the host."""

    code = "dns"


class ConnectFailed(FetchFailed):
    """No connection to the host."""

    code = "connect"


class TlsFailed(FetchFailed):
    """The TLS handshake or the certificate was refused."""

    code = "tls"


class ConnectionDropped(FetchFailed):
    """The server closed the connection, or broke HTTP, before the page was whole."""

    code = "dropped"


class TimedOut(FetchFailed):
    """The request took longer than its time."""

    code = "timeout"


class ProxyFailed(FetchFailed):
    """The proxy refused or failed; the host itself was not reached."""

    code = "proxy"


class TooLarge(FetchFailed):
    """The body is larger than max_bytes."""

    code = "too_large"


class BadEncoding(FetchFailed):
    """The compressed body cannot be unpacked."""

    code = "bad_encoding"


class TooManyRedirects(FetchFailed):
    """The redirect chain is too long, or turns in a circle."""

    code = "redirects"


class BadRedirect(FetchFailed):
    """The server redirects to something that is not an http(s) URL."""

    code = "bad_redirect"


class PrivateAddress(FetchFailed):
    """The host is a private address and nobody opened it."""

    code = "private_address"


class RobotsDisallowed(FetchFailed):
    """robots.txt forbids this URL to us; `rule` is the line that does."""

    code = "robots"


class RobotsUnavailable(FetchFailed):
    """robots.txt cannot be had (5xx), so nothing may be fetched for now."""

    code = "robots_unavailable"


class NotReadable(FetchFailed):
    """The page cannot be read as the task expects (binary served as HTML, say)."""

    code = "not_readable"
