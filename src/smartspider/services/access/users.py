"""Users and their roles, managed by admins."""

from __future__ import annotations

import re

from smartspider.core.access import Principal, Role, UserRecord, require
from smartspider.core.datetimes import format_time
from smartspider.core.errors import Problem, RequestInvalid
from smartspider.core.tasks import SYSTEM
from smartspider.services.access.access import Access
from smartspider.services.access.secrets import check_password
from smartspider.services.inputs import is_id, parse_cursor, to_page
from smartspider.views.access import UserView
from smartspider.views.listed import Listed

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._@-]{0,63}\Z")


async def create_user(
    access: Access, principal: Principal, name: str, role: Role, password: str | None = None
) -> UserView:
    """Create a user; one without a password can only use tokens."""
    require(principal, "users", "write")
    if not _NAME.match(name) or name == SYSTEM:
        reason = "a name has up to 64 letters, digits, dots, dashes, @ and _, and starts with a letter"
        problem = Problem("name", reason, "for example ann or ann@example.com")
        raise RequestInvalid(reason, (problem,), hint=problem.hint)
    return user_view(
        await access.users.add_user(name, await _hash_new(access, name, password), role, actor=principal.name)
    )


async def list_users(
    access: Access, principal: Principal, *, cursor: str | None, limit: int
) -> Listed[UserView]:
    """List users, oldest first."""
    require(principal, "users", "read")
    found = await access.users.find_users(after=parse_cursor(cursor) or 0, limit=limit + 1)
    return to_page(found, limit, lambda one: one.id, user_view)


async def get_user(access: Access, principal: Principal, user: str) -> UserView:
    """Return a user by id or name."""
    require(principal, "users", "read")
    return user_view(await _find(access, user))


async def change_user(
    access: Access,
    principal: Principal,
    user: str,
    *,
    password: str | None = None,
    role: Role | None = None,
    is_enabled: bool | None = None,
) -> UserView:
    """Change the given properties of a user and end all their sessions."""
    require(principal, "users", "write")
    before = await _find(access, user)
    hashed = None if password is None else await _hash_new(access, before.name, password)
    changed = await access.users.change_user(
        before.id, actor=principal.name, password=hashed, role=role, is_enabled=is_enabled
    )
    access.authenticator.clear_cache()
    return user_view(changed)


async def delete_user(access: Access, principal: Principal, user: str) -> None:
    """Delete a user with their sessions and tokens."""
    require(principal, "users", "write")
    record = await _find(access, user)
    await access.users.delete_user(record.id, actor=principal.name)
    access.authenticator.clear_cache()


def user_view(user: UserRecord) -> UserView:
    """Return the view of a user, without the password."""
    return UserView(
        *(str(user.id), user.name, user.role, user.disabled_at is None, bool(user.password)),
        created_at=format_time(user.created_at),
        disabled_at=format_time(user.disabled_at),
    )


async def _find(access: Access, user: str) -> UserRecord:
    """Names start with a letter, so a number is an id."""
    return await access.users.get_user(int(user) if is_id(user) else user)


async def _hash_new(access: Access, name: str, password: str | None) -> str:
    if password is None:
        return ""
    check_password(password, name)
    return await access.passwords.hash(password)
