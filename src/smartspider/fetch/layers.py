"""Pass requests and answers through the layers of a task, in its order, each call within a time limit."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec

from smartspider.core.errors import FetchFailed, LayerFailed, NotBuilt, NotFound, Problem, TaskInvalid
from smartspider.core.functions import CRASHES, error_text, pass_interrupt, printing_apart
from smartspider.core.pages.page import UNAUTHORIZED, Page
from smartspider.core.pages.rules import OWN_PAGE
from smartspider.core.redaction.redactor import Redactor
from smartspider.core.requests.origins import OriginTrust
from smartspider.core.requests.request import Request
from smartspider.core.requests.request_headers import withheld
from smartspider.core.requests.secrets import SecretValues, fill_values, references_in
from smartspider.core.requests.urls import normal_url
from smartspider.core.runs.plan import FetchPlan
from smartspider.core.workers import activity
from smartspider.core.workers.time_limit import TimeLimit, TookTooLong
from smartspider.fetch.tokens import HeldToken, TokenSource
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.fetcher import Exchange, Fetcher
from smartspider.interfaces.layer import (
    LayerRefused,
    LayerRequest,
    RequestLayer,
    ResponseLayer,
    Token,
    TokenLayer,
)
from smartspider.plugins.kinds import LAYER
from smartspider.plugins.options import construct, option_parameters, option_problems
from smartspider.plugins.registry import resolve

COMMON = ("use", "pages")
"""Keys of every layer that are not options."""
SECRETS = "secrets"
"""The parameter of a layer that is no option: the values of secrets by name."""

T = TypeVar("T")

REQUEST, ANSWER, TOKEN = "before the request", "after the answer", "for its token"
UNAUTHENTICATED = 401


class NamedLayer(NamedTuple):
    """A layer, its place in the task and its plug-in, and which of the two methods it has."""

    number: int
    use: str
    before: Callable[[LayerRequest], object] | None
    after: Callable[[Page, LayerRequest], object] | None
    token: TokenLayer | None = None
    has_secrets: bool = False
    """Its options refer to secrets, so it is only for origins that these may be sent to."""
    options: str = ""
    """Its options as they are written."""

    def failed(self, when: str, what: str) -> LayerFailed:
        """Return the error that names the layer."""
        return LayerFailed(f"layers[{self.number}] {self.use}, {when}: {what}")


PageLayers = Mapping[str, tuple[NamedLayer, ...]]
"""The layers of each page type that has any, in the order of the task."""


def compile_layers(
    layers: Iterable[dict[str, Any]],
    pages: Iterable[str],
    secrets: SecretValues | None = None,
    trust: OriginTrust | None = None,
) -> PageLayers:
    """Return the layers of page types; raise `TaskInvalid` naming every invalid one. Without `pages` a layer
    is for all types of the task, which files and sitemaps are not.

    `secrets` None: the task is only checked. `trust` is where tokens may be requested.
    """
    found: dict[str, tuple[NamedLayer, ...]] = {}
    own = [name for name in pages if not name.startswith(OWN_PAGE)]
    problems: list[Problem] = []
    for number, options in enumerate(layers):
        layer = _build(options, f"layers[{number}]", problems, secrets)
        before = layer.before_request if isinstance(layer, RequestLayer) else None
        after = layer.after_response if isinstance(layer, ResponseLayer) else None
        token = layer if isinstance(layer, TokenLayer) else None
        if token is not None and trust is not None and secrets is not None:
            problems += _untrusted(token, f"layers[{number}]", trust)
        has_secrets = token is not None or any(True for _ in references_in(options))
        written = msgspec.json.encode(options).decode()
        named = NamedLayer(number, options["use"], before, after, token, has_secrets, written)
        for page in dict.fromkeys(options.get("pages") or own):
            found[page] = (*found.get(page, ()), named)
    if problems:
        first = problems[0]
        raise TaskInvalid(f"{first.path}: {first.message}", tuple(problems), hint=first.hint)
    return found


def _untrusted(layer: TokenLayer, path: str, trust: OriginTrust) -> list[Problem]:
    try:
        url = layer.token_request().url
        if trust.is_for_task(url):
            return []
    except CRASHES as error:  # a plug-in may raise anything
        pass_interrupt(error)
        return [Problem(path, f"its request for a token raised {error_text(error)}")]
    refusal = withheld("the request for its token", url)
    return [Problem(path, refusal.message, refusal.hint)]


def _build(given: dict[str, Any], path: str, problems: list[Problem], secrets: SecretValues | None) -> Any:
    use = given["use"]
    try:
        factory = resolve(LAYER, use)
    except (NotFound, NotBuilt) as error:
        problems.append(Problem(f"{path}.use", error.message, error.hint))
        return None
    options = {name: value for name, value in given.items() if name not in COMMON}
    if wrong := option_problems("layer", factory, options, path, (*COMMON, SECRETS)):
        problems += wrong
        return None
    if SECRETS in option_parameters(factory):
        options[SECRETS] = secrets
    elif secrets is not None:
        options = fill_values(options, secrets)
    layer, problem = construct("layer", use, factory, options, path)
    if problem is not None and secrets:  # a plug-in may repeat its options
        problem.message = Redactor(secrets.values()).text(problem.message)
    if problem is None and not isinstance(layer, RequestLayer | ResponseLayer | TokenLayer):
        hint = "a layer has before_request or after_response"
        problem = Problem(path, f"the plug-in {use!r} did not return a layer", hint)
    if problem is not None:
        problems.append(problem)
    return layer


class LayerContext(msgspec.Struct, frozen=True):
    """The values that layers get from their worker."""

    clock: Clock
    longest_s: float
    """The longest time that a call of a layer may take."""
    trust: OriginTrust
    """Where secrets may be sent."""
    redact: Callable[[str], object] = str
    """Receives tokens, which no log shows."""


def layers_around(
    layers: PageLayers, plan: FetchPlan, context: LayerContext
) -> Callable[[Fetcher, TokenSource], Fetcher] | None:
    """Return what puts layers around a fetcher; None without any."""
    return partial(TaskLayers, layers=layers, plan=plan, context=context) if layers else None


class TaskLayers:
    """The layers of a task around a fetcher, inside redirects, robots.txt, address policy and secrets. They
    see what is sent and change nothing that was checked; the page has the URL of the request.

    A layer that refers to secrets or has a token is only for the origins that secrets may be sent to.
    """

    def __init__(
        self,
        inner: Fetcher,
        tokens: TokenSource,
        *,
        layers: PageLayers,
        plan: FetchPlan,
        context: LayerContext,
    ) -> None:
        self._inner = inner
        self._tokens = tokens
        self._redact = context.redact
        self._layers = layers
        self._plan = plan
        self._clock = context.clock
        self._trust = context.trust
        self._limit = TimeLimit(context.longest_s)

    async def fetch(self, exchange: Exchange) -> Page:
        """Return the page, requested and changed by all layers of its type; raise `LayerFailed`."""
        layers = self._layers.get(exchange.request.page)
        if layers is None:
            return await self._inner.fetch(exchange)
        trusted = self._trusted(layers, exchange.request)
        tokens = await self._all_tokens(exchange, trusted)
        page = await self._pass(exchange, trusted, tokens)
        if _is_rejected(page, tokens, self._clock.now()):
            tokens = await self._all_tokens(exchange, trusted)
            page = await self._pass(exchange.another(exchange.request), trusted, tokens)
            _is_rejected(page, tokens, self._clock.now())
        if page.status in UNAUTHORIZED and len(trusted) < len(layers):
            return msgspec.structs.replace(page, withheld=True)
        return page

    def _trusted(self, layers: tuple[NamedLayer, ...], request: Request) -> tuple[NamedLayer, ...]:
        """Return the layers without those whose secrets are not for the origin of a request; raise
        `SecretsWithheld` if one of these would change its body.
        """
        if not any(named.has_secrets for named in layers) or self._trust.is_for_task(request.url):
            return layers
        if request.extras.body and any(named.has_secrets and named.before for named in layers):
            raise withheld("the body that layers with secrets change", request.url)
        return tuple(named for named in layers if not named.has_secrets)

    async def _all_tokens(self, exchange: Exchange, layers: tuple[NamedLayer, ...]) -> _Tokens:
        """Return the tokens of layers; those that are missing are requested."""
        found = {}
        for named in layers:
            if named.token is not None:
                key = f"{named.number} {named.options}"
                held: HeldToken = exchange.session.tokens.setdefault(key, HeldToken())
                request = partial(self._request_token, exchange, named, named.token)
                found[named.number] = held, await held.ensure(self._clock, request)
        return found

    async def _request_token(self, exchange: Exchange, named: NamedLayer, layer: TokenLayer) -> Token:
        asked: object = self._run(exchange, named, TOKEN, layer.token_request)
        if not isinstance(asked, LayerRequest) or normal_url(asked.url) != asked.url:
            raise named.failed(TOKEN, f"returned an invalid LayerRequest: {type(asked).__name__}")
        if not self._trust.is_for_task(asked.url):
            raise withheld(f"the request for the token of layers[{named.number}]", asked.url)
        page = await self._tokens.fetch(asked, exchange, partial(named.failed, TOKEN))
        token: object = self._run(exchange, named, TOKEN, layer.read_token, page)
        if not isinstance(token, Token):
            raise named.failed(TOKEN, f"returned {type(token).__name__} instead of a Token")
        self._redact(token.value)
        return token

    async def _pass(self, exchange: Exchange, layers: tuple[NamedLayer, ...], tokens: _Tokens) -> Page:
        request = exchange.request
        await exchange.permit.approach()  # a signature may hold for seconds only
        sent = self._shown(request)
        for named in layers:
            changed: object
            if named.token is not None:
                changed = self._run(
                    exchange, named, REQUEST, named.token.with_token, sent, tokens[named.number][1]
                )
                sent = _checked_request(named, sent, changed)
            elif named.before is not None:
                changed = self._run(exchange, named, REQUEST, named.before, sent)
                sent = _checked_request(named, sent, changed)
        page = await self._send(exchange, sent)
        if not (200 <= page.status < 300 and page.body):
            return page
        for named in layers:
            if named.after is not None:
                new = self._run(exchange, named, ANSWER, named.after, page, sent)
                page = self._checked_page(named, page, new, request.page)
        return page

    def _shown(self, request: Request) -> LayerRequest:
        extras, most = request.extras, self._plan.of_page(request.page).max_bytes
        now = self._clock.now()
        return LayerRequest(extras.method, request.url, extras.headers, extras.body, request.page, now, most)

    async def _send(self, exchange: Exchange, sent: LayerRequest) -> Page:
        """Send a request as layers made it. What they added to the URL is in no page and no error."""
        request = exchange.request
        extras = msgspec.structs.replace(request.extras, headers=sent.headers, body=sent.body)
        try:
            page = await self._inner.fetch(
                exchange.sending(msgspec.structs.replace(request, url=sent.url, extras=extras))
            )
        except FetchFailed as error:
            error.message = error.message.replace(sent.url, request.url)
            raise
        return msgspec.structs.replace(page, url=request.url)

    def _run(
        self, exchange: Exchange, named: NamedLayer, when: str, call: Callable[..., T], *given: object
    ) -> T:
        """Return what a layer returns, within the time limit; raise `LayerFailed` with its name."""
        if exchange.lease is not None:
            activity.begin(exchange.lease)
            activity.enter_layer(named.number)
        try:
            with printing_apart():
                return self._limit.run(call, *given)
        except TookTooLong:
            what = f"took more than {self._limit.longest_s:g} s"
        except LayerRefused as error:
            what = error.reason
        except CRASHES as error:
            pass_interrupt(error)
            what = f"raised {error_text(error)}"
        finally:
            activity.end()
        raise named.failed(when, what)

    def _checked_page(self, named: NamedLayer, page: Page, new: object, page_type: str) -> Page:
        """Return the page with what a layer may change of it; raise `LayerFailed` if that is unusable."""
        if not isinstance(new, Page):
            raise named.failed(ANSWER, f"returned {type(new).__name__} instead of a Page")
        try:
            parts = msgspec.convert(
                {"headers": new.headers, "body": new.body, "charset": new.charset},
                _AnswerParts,
                builtin_types=(bytes,),
            )
            codecs.lookup(parts.charset)
        except (LookupError, msgspec.ValidationError) as error:
            raise named.failed(ANSWER, f"returned an invalid Page: {error}") from error
        most = self._plan.of_page(page_type).max_bytes
        if len(parts.body) > most:
            what = f"the body has {len(parts.body)} bytes, more than max_bytes allows ({most})"
            raise named.failed(ANSWER, what)
        return msgspec.structs.replace(page, headers=parts.headers, body=parts.body, charset=parts.charset)


_Tokens = Mapping[int, tuple[HeldToken, str]]
"""The tokens of a request by the number of their layer, with the values that it is sent with."""


def _is_rejected(page: Page, tokens: _Tokens, now: float) -> bool:
    """Return whether an answer rejects a token, so that its request is to be sent with another one."""
    if page.status == UNAUTHENTICATED:
        return True in [held.reject(value, now) for held, value in tokens.values()]
    for held, _ in tokens.values():
        held.has_worked |= page.status < UNAUTHENTICATED
    return False


class _AnswerParts(msgspec.Struct):
    headers: dict[str, str]
    body: bytes
    charset: str


def _checked_request(named: NamedLayer, before: LayerRequest, new: object) -> LayerRequest:
    """Return the request that a layer made; raise `LayerFailed` if it changed what was checked before."""
    if not isinstance(new, LayerRequest):
        raise named.failed(REQUEST, f"returned {type(new).__name__} instead of a LayerRequest")
    try:
        made = msgspec.convert(msgspec.structs.asdict(new), LayerRequest, builtin_types=(bytes,))
    except msgspec.ValidationError as error:
        raise named.failed(REQUEST, f"returned an invalid LayerRequest: {error}") from error
    made = msgspec.structs.replace(made, url=normal_url(made.url) or "")
    if _fixed_parts(made) != _fixed_parts(before):
        raise named.failed(REQUEST, "changed more than the query of the URL, headers and the body")
    return made


def _fixed_parts(request: LayerRequest) -> tuple[str, str, str]:
    return request.method, request.url.partition("?")[0], request.page
