"""Write `client/sync.pyi`, the types of the synchronous client, from the sources of the asynchronous one."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "smartspider"
CLIENT = PACKAGE / "client"
HANDLES = ("Tasks", "Runs", "Logs", "LiveStream", "TaskHandle", "RunHandle", "Results")
"""Classes that are mirrored under their own names."""
STUB = CLIENT / "sync.pyi"
HEAD = '"""Made by scripts/sync_stub.py."""\n\n# ruff: noqa: A002 - what the API calls it'


class Waiting(ast.NodeTransformer):
    """Turns the signature of an asynchronous method into that of its synchronous twin."""

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: D102
        return ast.copy_location(ast.Name(f"Sync{node.id}"), node) if node.id in HANDLES else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:  # noqa: D102
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "Annotated":
            assert isinstance(node.slice, ast.Tuple)
            return node.slice.elts[0]
        if isinstance(node.value, ast.Name) and node.value.id == "AsyncGenerator":
            return ast.parse(f"Generator[{ast.unparse(node.slice)}]", mode="eval").body
        return node


def build_stub() -> str:
    """Return the text of the stub."""
    sources = [*sorted(CLIENT.rglob("*.py")), *sorted((PACKAGE / "operations").rglob("*.py"))]
    trees = {path: ast.parse(path.read_text()) for path in sources}
    classes = {
        node.name: node for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef)
    }
    bodies = [_class(f"Sync{name}", "", classes[name]) for name in HANDLES]
    operations = [base.id for base in classes["AllOperations"].bases if isinstance(base, ast.Name)]
    bodies += [_class(_calls(name), "", classes[name]) for name in operations]
    bodies.append(_class("_RemoteCalls", "", classes["RemoteOperations"]))
    bases = ", ".join(["_RemoteCalls", *(_calls(name) for name in operations)])
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
    """Return the public methods, synchronous and without a body."""
    known = ("__init__", "__aenter__", "__aexit__") if keeps_constructor else ()
    methods = [line for line in source.body if isinstance(line, ast.FunctionDef | ast.AsyncFunctionDef)]
    several = {one.name for one in methods if _is_overload(one)}
    return [
        ast.copy_location(
            ast.FunctionDef(
                one.name, one.args, [ast.Expr(ast.Constant(...))], _kept_decorators(one), one.returns
            ),
            one,
        )
        for one in methods
        if one.name in known or not (one.name.startswith("_") or one.name == "perform")
        if _is_overload(one) or one.name not in several
    ]


def _kept_decorators(method: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    """Return the decorators that matter to a type checker; `@operation` does not."""
    return [one for one in method.decorator_list if isinstance(one, ast.Name)]


def _is_overload(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "overload" for one in method.decorator_list)


def _imports(trees: dict[Path, ast.Module], text: str) -> Iterator[str]:
    """Yield the imports the text needs: those of the sources, or the sources themselves."""
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    found = {"from collections.abc import Generator"}
    for path, tree in trees.items():
        module = ".".join(["smartspider", *path.relative_to(PACKAGE).with_suffix("").parts])
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
    STUB.write_text(build_stub())
    for command in (["check", "-q", "--fix", "--select", "I"], ["format", "-q"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, STUB], check=True)
