"""Compile JMESPath expressions."""

from __future__ import annotations

from typing import Any

from smartspider.core.errors import NotReadable
from smartspider.extract.errors import InvalidExpression


class JmesExpression:
    """A compiled JMESPath expression; raises `InvalidExpression`."""

    def __init__(self, expr: str) -> None:
        import jmespath
        from jmespath.exceptions import JMESPathError, ParseError

        self._expr = expr
        self._errors = (JMESPathError, RecursionError, TypeError, ValueError, KeyError, AttributeError)
        try:
            self._parsed = jmespath.compile(expr)
        except ParseError as wrong:  # includes LexerError
            raise InvalidExpression(wrong.lex_position, _first_line(wrong)) from None
        except (
            JMESPathError,
            RecursionError,
            ValueError,
        ) as wrong:  # for example a number of thousands of digits
            raise InvalidExpression(None, _first_line(wrong)) from None
        _check_functions(self._parsed.parsed, expr)

    def search(self, value: Any) -> Any:
        """Evaluate the expression; None also if the value has the wrong type for it."""
        try:
            return self._parsed.search(value)
        except RecursionError:
            raise NotReadable(
                f"the JMESPath expression {self._expr!r} is nested too deep for the page"
            ) from None
        except self._errors:
            # For example `length(x)` where x is null.
            return None


def _first_line(wrong: Exception) -> str:
    text = str(wrong).partition("\n")[0]
    what = text.rpartition("Parse error at column")[2] if "Parse error at column" in text else text
    return what.partition(", ")[2].partition(" for expression")[0] or what


def _check_functions(node: Any, expr: str) -> None:
    from jmespath.functions import Functions

    known = Functions.FUNCTION_TABLE
    stack = [node]
    called: set[int] = set()
    while stack:
        node = stack.pop()
        children = node.get("children", ())
        if node["type"] == "function_expression":
            name = node["value"]
            if name not in known:
                raise InvalidExpression(
                    _place(expr, name), f"there is no function {name}()", _near(name, known)
                )
            signature = known[name]["signature"]
            is_open = bool(signature) and bool(signature[-1].get("variadic"))
            count = len(children)
            if count < len(signature) or (count > len(signature) and not is_open):
                what = f"{name}() takes {len(signature)} argument{'s' * (len(signature) != 1)}, not {count}"
                raise InvalidExpression(_place(expr, name), what)
            called.update(
                id(child)
                for child, taken in zip(children, signature, strict=False)
                if "expref" in taken["types"]
            )
        elif node["type"] == "expref" and id(node) not in called:
            # An expression reference is not a value that could be stored.
            raise InvalidExpression(
                None, "'&' is not a value", "use it as a function argument, such as sort_by(x, &y)"
            )
        stack.extend(child for child in children if isinstance(child, dict))


def _place(expr: str, name: str) -> int | None:
    at = expr.find(f"{name}(")
    return None if at < 0 else at


def _near(name: str, known: dict[str, Any]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}()?" if near else ""
