"""Cookies of logins, and their leases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from smartspider.core.cookies.sets import CookieOutcome
from smartspider.operations.operation import Body, Operations, Replay, operation
from smartspider.views.identities.cookies import (
    CookieCheckView,
    CookieDetailsView,
    CookieLeaseView,
    CookieSetView,
    RenewedLeaseView,
    UploadedView,
)
from smartspider.views.listed import Listed
from smartspider.views.params import Cursor, IdempotencyKey, Limit, Param, body, query

COOKIES = "/api/cookies/{cookie_id}"
CookieRef = Annotated[str, Param(about="The id of the cookies, or their name.", rules={"max_length": 100})]
LeaseDomain = Annotated[str, query("The domain of the site.", min_length=1, max_length=253)]
LeaseId = Annotated[str, body("The lease.", min_length=1, max_length=100)]
_ONE_LOGIN = "The cookies, without their values"


class CookieOperations(Operations):
    """Cookies of logins. Only a lease returns values."""

    @operation(
        "POST",
        "/api/cookies/upload",
        needs=("uploads", "write"),
        summary="Upload cookies",
        answer=_ONE_LOGIN,
        status=201,
        replay=Replay(),
        location="/api/cookies/{id}",
        body=Body(
            "CookieUpload",
            "The cookies of a login at a site.",
            examples=({"domain": "example.com", "name": "main", "cookies": "session=4b1d; theme=dark"},),
            is_secret=True,
        ),
    )
    async def upload_cookies(
        self,
        *,
        domain: Annotated[str, body("The domain whose hosts get them.", min_length=1, max_length=253)],
        cookies: Annotated[
            str | Sequence[Any] | Mapping[str, Any],
            body(
                "A Cookie header, Set-Cookie headers, a Netscape cookies.txt, the JSON of EditThisCookie or"
                " of a Playwright storage state, an object of values by name, or a HAR file. Cookies of other"
                " domains and expired ones are left out.",
                wire=str | list[dict[str, Any]] | dict[str, Any],
            ),
        ],
        name: Annotated[
            str, body("A name for them; those with this name are replaced.", max_length=100)
        ] = "",
        shared: Annotated[
            bool | None, body("Whether the tasks of all users may use them, not only those of their owner.")
        ] = None,
        limit: Annotated[
            int | None, body("Requests that may use them at the same time; 4 at first.", ge=1, le=100)
        ] = None,
        check_url: Annotated[
            str | None, body("A page that only a login gets; checks fetch it.", max_length=2000)
        ] = None,
        signed_out: Annotated[
            Mapping[str, Any] | None,
            body(
                "What a page without a login looks like, besides http 401 and redirects to a password form:"
                " `status` (a list), `url` (a part of the URL where redirects end), `selector` (CSS) or"
                " `json` (JMESPath).",
                wire=dict[str, Any] | None,
            ),
        ] = None,
        idempotency_key: IdempotencyKey = None,
    ) -> UploadedView:
        """Store the cookies of a login, encrypted. Tasks with `use_cookie` or `cookie_id` send them."""
        from smartspider.services.identities import cookies as service

        return await service.upload(
            self.installation,
            self.principal,
            domain=domain,
            cookies=cookies,
            name=name,
            is_shared=shared,
            limit=limit,
            check_url=check_url,
            signed_out=signed_out,
        )

    @operation(
        "GET",
        "/api/cookies",
        needs=("cookies", "read"),
        summary="List cookies",
        answer="A page of cookies, without their values",
    )
    async def list_cookies(
        self,
        *,
        domain: Annotated[str | None, query("Only those of this domain.", max_length=253)] = None,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> Listed[CookieSetView]:
        """List the cookies of logins, oldest first."""
        from smartspider.services.identities import cookies as service

        return await service.list_cookies(self.installation, domain=domain, cursor=cursor, limit=limit)

    @operation(
        "GET",
        "/api/cookies/lease",
        needs=("leases", "read"),
        summary="Lease cookies",
        answer="The lease, with the values of the cookies",
    )
    async def lease_cookies(self, *, domain: LeaseDomain) -> CookieLeaseView:
        """Borrow the cookies of a domain for a program of your own. Nobody else uses this slot of them until
        the lease ends; renew it before, and release it as soon as you can.
        """
        from smartspider.services.identities import cookies as service

        return await service.lease_cookies(self.installation, self.principal, domain)

    @operation(
        "POST",
        "/api/cookies/lease",
        needs=("leases", "write"),
        summary="Lease cookies",
        answer="The lease, with the values of the cookies",
    )
    async def take_lease(self, *, domain: LeaseDomain) -> CookieLeaseView:
        """Borrow the cookies of a domain, as by GET."""
        from smartspider.services.identities import cookies as service

        return await service.lease_cookies(self.installation, self.principal, domain)

    @operation(
        "POST",
        "/api/cookies/renew",
        needs=("leases", "write"),
        summary="Renew a lease of cookies",
        answer="The lease",
        body=Body("LeaseRenewal", "The lease.", examples=({"lease_id": "9f2c4e.1"},)),
    )
    async def renew_lease(self, *, lease_id: LeaseId) -> RenewedLeaseView:
        """Keep leased cookies for another term. 409: the lease is over."""
        from smartspider.services.identities import cookies as service

        return await service.renew_lease(self.installation, self.principal, lease_id)

    @operation(
        "POST",
        "/api/cookies/release",
        needs=("leases", "write"),
        summary="Release leased cookies",
        answer="The cookies were released",
        status=204,
        body=Body("LeaseRelease", "The lease.", examples=({"lease_id": "9f2c4e.1", "outcome": "ok"},)),
    )
    async def release_lease(
        self,
        *,
        lease_id: LeaseId,
        outcome: Annotated[
            CookieOutcome, body("`invalid`: the site does not know the login; the cookies are set aside.")
        ] = "ok",
    ) -> None:
        """Give leased cookies back."""
        from smartspider.services.identities import cookies as service

        await service.release_lease(self.installation, self.principal, lease_id, outcome)

    @operation(
        "GET", COOKIES, needs=("cookies", "read"), summary="Show cookies", answer="The names of the cookies"
    )
    async def get_cookies(self, cookie_id: CookieRef) -> CookieDetailsView:
        """Show the cookies of a login, each by its name. Values are never shown."""
        from smartspider.services.identities import cookies as service

        return await service.get_cookies(self.installation, cookie_id)

    @operation(
        "DELETE",
        COOKIES,
        needs=("cookies", "write"),
        summary="Delete cookies",
        answer="The cookies were deleted",
        status=204,
    )
    async def delete_cookies(self, cookie_id: CookieRef) -> None:
        """Delete the cookies of a login. Runs stop using them within seconds."""
        from smartspider.services.identities import cookies as service

        await service.delete_cookies(self.installation, self.principal, cookie_id)

    @operation(
        "POST",
        f"{COOKIES}/check",
        needs=("cookies", "write"),
        summary="Check cookies",
        answer="Whether the login works",
        body=Body("CookieCheck", "What to fetch.", examples=({"url": "https://example.com/account"},)),
        is_heavy=True,
    )
    async def check_cookies(
        self,
        cookie_id: CookieRef,
        *,
        url: Annotated[
            str | None, body("A page that only a login gets; by default their `check_url`.", max_length=2000)
        ] = None,
    ) -> CookieCheckView:
        """Fetch a page with cookies, at the rate limit of its host. Cookies that the site does not know are
        set aside, and those that work are active again.
        """
        from smartspider.wiring.cookie_check import check_cookies

        return await check_cookies(self.installation, self.principal, cookie_id, url)

    @operation(
        "POST", f"{COOKIES}/lock", needs=("cookies", "write"), summary="Set cookies aside", answer=_ONE_LOGIN
    )
    async def lock_cookies(self, cookie_id: CookieRef) -> CookieSetView:
        """Lend cookies to nobody until they are unlocked. Runs stop using them within seconds."""
        from smartspider.services.identities import cookies as service

        return await service.lock_cookies(self.installation, self.principal, cookie_id, is_locked=True)

    @operation(
        "POST", f"{COOKIES}/unlock", needs=("cookies", "write"), summary="Activate cookies", answer=_ONE_LOGIN
    )
    async def unlock_cookies(self, cookie_id: CookieRef) -> CookieSetView:
        """Make cookies active again: locked ones, and those that a site did not know."""
        from smartspider.services.identities import cookies as service

        return await service.lock_cookies(self.installation, self.principal, cookie_id, is_locked=False)
