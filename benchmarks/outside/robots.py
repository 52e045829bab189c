"""Google's tests of robots.txt, in C++ and Java, against our parser.

    python -m benchmarks.outside.robots

The test files are translated to Python statement by statement; a statement that cannot be translated is
counted as failed.
"""

from __future__ import annotations

import re
import sys
from ast import literal_eval
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from benchmarks.outside.report import Results
from benchmarks.outside.sources import open_source

from smartspider.fetch.robots_file import RobotsFile, escape_pattern, path_of, read_lines, token_of

CPP = "github:google/robotstxt@22b355ff855419e6a3ff8ff09c0ad7fdb17116f9"
JAVA = "github:google/robotstxt-java@ef74a3c5d7bb7047c018a24391a66081e5ff8688"
SHARE_ASKED = 410 / 415

_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMENT = re.compile(rf"({_STRING}|'(?:[^'\\]|\\.)*')|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TOKEN = re.compile(rf"{_STRING}|'(?:[^'\\]|\\.)*'|[{{}};]|[^\"'{{}};]+")
_TYPE = re.compile(
    r"^(?:static |final )?(?:const )?(?:absl::string_view|std::string|size_t|int|char|String|Matcher)&? "
)
_REWRITES = (
    (re.compile(r"\[\] ="), " ="),
    (re.compile(r"std::string\(([^()]*)\)\.(?:length|size)\(\)"), r"len(\1)"),
    (re.compile(r"(\w+)\.(?:length|size)\(\)"), r"len(\1)"),
    (re.compile(r"absl::StrAppend\(&(\w+), (.*)\)$", re.DOTALL), r"\1 += StrCat(\2)"),
    (re.compile(r"absl::string_view\(\)"), '""'),
    (re.compile(r"(?:absl|googlebot|RobotsMatcher)::"), ""),
    (re.compile(r"RobotsStatsReporter report$"), "report = RobotsStatsReporter()"),
    (re.compile(r"&report"), "report"),
    (re.compile(r"^EXPECT_TRUE\(|^assertTrue\("), "check(True, "),
    (re.compile(r"^EXPECT_FALSE\(|^assertFalse\("), "check(False, "),
    (re.compile(r"^EXPECT_EQ\(|^assertEquals\("), "check("),
)
_TEST_START = re.compile(r"TEST\(RobotsUnittest, (\w+)\) \{|public void (test\w+)\(\) \{")
_LINE_KIND = re.compile(r"\.line_num = (\d+),\s*\.tag_name = [\w:]*::k(\w+)")
_KINDS = {"UserAgent": "user-agent", "Allow": "allow", "Disallow": "disallow", "Sitemap": "sitemap"}
_REST_OF_JAVA = frozenset({"testLongLines", "testIndexNormalisation"})
"""Tests with loops and arrays of Java; the same cases are in the C++ file."""


class LineCounter:
    """Counts lines of a robots.txt as the reporter of Google's tests does."""

    def parse(self, text: str) -> None:
        lines = list(read_lines(text.encode("latin-1")))
        known = [line for line in lines if line.key not in (None, "crawl-delay")]
        self.valid_directives = lambda: len(known)
        self.unknown_directives = lambda: len(lines) - len(known)
        self.last_line_seen = lambda: lines[-1].number
        self.sitemap = lambda: "".join(line.value for line in known if line.key == "sitemap")


def main() -> int:
    """Print the figure and the failures; return 1 below the figure asked."""
    results = Results("robots.txt")
    cpp = (open_source(CPP) / "robots_test.cc").read_bytes().decode("latin-1")
    run_tests("C++", cpp, results)
    java = next(open_source(JAVA).rglob("RobotsMatcherTest.java")).read_bytes().decode("latin-1")
    run_tests("Java", java, results)
    check_lines((open_source(CPP) / "reporting_robots_test.cc").read_text(), results)
    return results.report(asked=SHARE_ASKED)


def check_lines(source: str, results: Results) -> None:
    """Compare the kind of each line of the file in the reporter's first test."""
    test = source[source.index("kSimpleFile[] =") : source.index("LinesTooLongReported")]
    text = "".join(literal_eval(each) for each in re.findall(_STRING, _uncommented(test[: test.index(";")])))
    lines = {line.number: line.key for line in read_lines(text.encode())}
    for number, kind in _LINE_KIND.findall(test):
        expected = _KINDS.get(kind)
        key = lines.get(int(number))
        results.add(f"C++ line {number}", expected, key)


def _uncommented(source: str) -> str:
    return _COMMENT.sub(lambda found: found[1] or "", source)


def run_tests(language: str, source: str, results: Results) -> None:
    """Run the tests of a file."""
    source = _uncommented(source)
    starts = list(_TEST_START.finditer(source))
    for start in starts:
        name = start[1] or start[2]
        if name not in _REST_OF_JAVA:
            run_test(f"{language} {name}", _body(source, start.end()), results)


def run_test(name: str, body: str, results: Results) -> None:
    """Run one test, translated to Python."""
    number = 0

    def check(expected: Any, actual: Any) -> None:
        nonlocal number
        number += 1
        results.add(f"{name} #{number}", expected, actual)

    scope = {
        "__builtins__": {"len": len},
        "check": check,
        "IsUserAgentAllowed": is_allowed,
        "IsValidUserAgentToObey": lambda agent: bool(agent) and token_of(agent) == agent,
        "RobotsStatsReporter": LineCounter,
        "ParseRobotsTxt": lambda text, report: report.parse(text),
        "StrCat": lambda *texts: "".join(texts),
        "TestPath": lambda url, path: check(path, path_of(url)),
        "TestEscape": lambda text, escaped: check(escaped, escape_pattern(_utf8(text))),
        "parse": lambda text: SimpleNamespace(
            singleAgentAllowedByRobots=lambda agent, url: is_allowed(text, agent, url)
        ),
    }
    code = "\n".join(_statements(body))
    exec(compile(code, name, "exec"), scope)  # no names but these


def is_allowed(text: str, agent: str, url: str) -> bool:
    """Return our verdict."""
    return RobotsFile(text.encode("latin-1"), agent).allows(_utf8(url))


def _utf8(text: str) -> str:
    return text.encode("latin-1").decode()


def _body(source: str, start: int) -> str:
    depth = 1
    for token in _TOKEN.finditer(source, start):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0:
            return source[start : token.start()]
    raise ValueError("a test without end")


def _statements(body: str) -> Iterator[str]:
    depth = 0
    statement = ""
    for token in (found[0] for found in _TOKEN.finditer(body)):
        if token == "{":
            yield f"{' ' * depth}{_translated(statement.strip()) or 'if True'}:"
            depth += 1
        elif token == "}":
            depth -= 1
        elif token == ";":
            yield f"{' ' * depth}{_translated(statement.strip())}"
        else:
            statement += token if token[0] in "\"'" else re.sub(r"\s+", " ", token)
            continue
        statement = ""


def _translated(statement: str) -> str:
    statement, declared = _TYPE.subn("", statement)
    if declared and statement.isidentifier():
        return f'{statement} = ""'
    for pattern, replacement in _REWRITES:
        statement = pattern.sub(replacement, statement)
    name, equals, value = statement.partition(" = ")
    return f"{name} = ({value.strip()})" if equals and name.isidentifier() else statement


if __name__ == "__main__":
    sys.exit(main())
