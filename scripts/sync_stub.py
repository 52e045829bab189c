"""Writes `client/sync.pyi`, the types of the client for scripts, from the source of the asynchronous one."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

CLIENT = Path(__file__).parents[1] / "src" / "smartspider" / "client"
PACKAGE = "smartspider.client"
HANDLES = ("Tasks", "Runs", "Logs", "Task", "Run", "Results")
"""Classes that are mirrored under names of their own."""
STUB = CLIENT / "sync.pyi"
HEAD = '"""Made by scripts/sync_stub.py."""\n\n# ruff: noqa: A002 - what the API calls it'


class Waiting(ast.NodeTransformer):
    """A signature as it is for those who wait."""

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: D102
        return ast.copy_location(ast.Name(f"Sync{node.id}"), node) if node.id in HANDLES else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:  # noqa: D102
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "AsyncGenerator":
            return ast.parse(f"Generator[{ast.unparse(node.slice)}]", mode="eval").body
        return node


def made() -> str:
    """The text of the stub."""
    trees = {path: ast.parse(path.read_text()) for path in sorted(CLIENT.rglob("*.py"))}
    classes = {
        node.name: node for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef)
    }
    bodies = [_class(f"Sync{name}", "", classes[name]) for name in HANDLES]
    operations = [base.id for base in classes["Operations"].bases if isinstance(base, ast.Name)]
    bodies += [_class(_calls(name), "", classes[name]) for name in operations]
    bases = ", ".join(_calls(name) for name in operations)
    bodies.append(_class("SyncClient", f"({bases})", classes["Client"], keeps_constructor=True))
    text = "\n".join(bodies)
    return "\n".join([HEAD, *_imports(trees, text), text])


def _calls(operations: str) -> str:
    return f"_{operations.removesuffix('Operations')}Calls"


def _class(name: str, bases: str, source: ast.ClassDef, *, keeps_constructor: bool = False) -> str:
    shown: list[ast.stmt] = [line for line in source.body if isinstance(line, ast.AnnAssign)]
    shown += _methods(source, keeps_constructor=keeps_constructor)
    inner = "\n".join(ast.unparse(Waiting().visit(line)) for line in shown)
    inner = inner.replace("__aenter__", "__enter__").replace("__aexit__", "__exit__")
    indented = "\n".join(f"    {line}" for line in inner.splitlines())
    return f"class {name}{bases}:\n{indented}\n"


def _methods(source: ast.ClassDef, *, keeps_constructor: bool) -> list[ast.FunctionDef]:
    """What is public, without a body, and not awaited."""
    known = ("__init__", "__aenter__", "__aexit__") if keeps_constructor else ()
    methods = [line for line in source.body if isinstance(line, ast.FunctionDef | ast.AsyncFunctionDef)]
    several = {one.name for one in methods if _is_overload(one)}
    return [
        ast.copy_location(
            ast.FunctionDef(
                one.name, one.args, [ast.Expr(ast.Constant(...))], one.decorator_list, one.returns
            ),
            one,
        )
        for one in methods
        if one.name in known or not one.name.startswith("_")
        if _is_overload(one) or one.name not in several
    ]


def _is_overload(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "overload" for one in method.decorator_list)


def _imports(trees: dict[Path, ast.Module], text: str) -> Iterator[str]:
    """What the text names: from where the sources have it, or from the sources themselves."""
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    found = {"from collections.abc import Generator"}
    for path, tree in trees.items():
        module = ".".join([PACKAGE, *path.relative_to(CLIENT).with_suffix("").parts])
        for node in tree.body:
            match node:
                case ast.ImportFrom(module=origin) if origin != "__future__":
                    found |= {f"from {origin} import {one.name}" for one in node.names if one.name in used}
                case ast.Import():
                    found |= {f"import {one.name}" for one in node.names if one.name in used}
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.ClassDef(name=name) if name in used:
                    found.add(f"from {module} import {name}")
                case _:
                    pass
    names = [f"Sync{name}" for name in HANDLES]
    yield from sorted(line for line in found if line.split()[-1] not in (*names, "SyncClient"))


if __name__ == "__main__":
    STUB.write_text(made())
    for command in (["check", "-q", "--fix", "--select", "I"], ["format", "-q"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, STUB], check=True)
