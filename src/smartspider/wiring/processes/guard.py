"""Guard a command that works in one process: it goes on in a child, which the first process supervises.

The supervisor does nothing else, so it exists before any event loop, and a fork costs milliseconds. When the
child is killed, another one resumes the work: all of it is in the store.
"""

from __future__ import annotations

import atexit
import mmap
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

import msgspec

from smartspider.core.runs.run import run_of
from smartspider.core.workers import activity
from smartspider.core.workers.watch import POLL_S, Drain, Kill, ProcessWatch
from smartspider.engine.runtime import die_with_parent
from smartspider.wiring.processes import sampling
from smartspider.wiring.processes.lifecycle import run_loop
from smartspider.wiring.processes.losses import Supervision
from smartspider.wiring.processes.watcher import ASK_AFTER_S, ASK_EVERY_S, VANISHED

FORWARDED = frozenset((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
SUSPENDING = signal.SIGTSTP
AWAITED = FORWARDED | {signal.SIGCHLD, SUSPENDING, signal.SIGCONT}
VANISHED_TEXT = "the program exited by itself: `os._exit` was called, perhaps by a function of the task"
STOPPING = frozenset((signal.SIGINT, signal.SIGTERM))


class Restart(msgspec.Struct, frozen=True):
    """Why a child takes the place of one that was killed or drained."""

    is_stopping: bool
    """The user has asked to stop: the child only brings the work to an orderly end."""
    started_at: float
    """When the first child was started, on the monotonic clock."""
    run_id: int
    """The run that the child before it worked on; 0 if it had read no page."""


def guarded(
    supervision: Supervision, name: str, report: Callable[[str], None], *, has_peers: bool = False
) -> Restart | None:
    """Continue in a child process; return there, with the reason if it takes the place of another one.

    The calling process supervises it, passes signals on, and exits as the child exits. It never returns.
    With `has_peers` it is one of many workers: it releases requests that others can work on, and a child
    over its memory budget gets SIGTERM first.
    """
    restart: Restart | None = None
    started_at = time.monotonic()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    guard = Guard(supervision, name, report, has_peers=has_peers)
    while True:
        sys.stdout.flush()
        sys.stderr.flush()
        memory = mmap.mmap(-1, activity.SIZE)
        pid = os.fork()
        if pid == 0:
            _begin_child(memory, before)
            return restart
        status = guard.supervise(pid, memory)
        if _has_vanished(status, memory):
            guard.report_vanished(memory)
        elif not guard.is_replaced:
            guard.report_signal(status)
            _exit_like(status)
        restart = Restart(guard.is_stopping, started_at, run_of(activity.decode(memory).url_id))


def outlived() -> None:
    """Continue in a child process; return there. If the child vanishes, as by `os._exit` in a function of the
    user, the calling process reports it and exits with `VANISHED`; else it exits as the child exits.

    Both are one process group, so that the child keeps the terminal.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    memory = mmap.mmap(-1, activity.SIZE)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED | {signal.SIGCHLD})
    pid = os.fork()
    if pid == 0:
        _share(memory, before)
        return
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            break
        received = signal.sigwaitinfo(FORWARDED | {signal.SIGCHLD})
        if received.si_signo in FORWARDED and received.si_code <= 0:  # not from the terminal
            os.kill(pid, received.si_signo)
    if _has_vanished(status, memory):
        _exit_as_vanished()
    _exit_like(status)


def _begin_child(memory: mmap.mmap, mask: set[int | signal.Signals]) -> None:
    # A process group of its own: Ctrl-C reaches only the supervisor, which passes it on.
    os.setpgid(0, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # it prints on the terminal all the same
    _share(memory, mask)


def _share(memory: mmap.mmap, mask: set[int | signal.Signals]) -> None:
    die_with_parent()
    activity.share(memory)
    atexit.register(activity.finish)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _has_vanished(status: int, memory: mmap.mmap) -> bool:
    """Return whether a child exited, but not by an orderly end."""
    return os.WIFEXITED(status) and not activity.has_finished(memory)


def _exit_as_vanished() -> NoReturn:
    sys.stderr.write(f"error: {VANISHED_TEXT}\n")
    sys.stderr.flush()
    os._exit(VANISHED)


def _exit_like(status: int) -> NoReturn:
    """End this process with the exit code or the signal of another one."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        number = signal.Signals(-code)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    os._exit(code if code >= 0 else 1)


class Guard:
    """Supervises one child at a time."""

    def __init__(
        self, supervision: Supervision, name: str, report: Callable[[str], None], *, has_peers: bool
    ) -> None:
        self._supervision = supervision
        self._name = name
        self._report = report
        self._has_peers = has_peers
        self.is_stopping = False
        """A signal has asked the child to stop."""
        self.is_replaced = False
        """The last child was killed or drained by this guard."""

    def supervise(self, pid: int, memory: mmap.mmap) -> int:
        """Watch a child until it ends; return its status."""
        self.is_replaced = False
        watch = ProcessWatch(self._supervision.settings.watch)
        asked_at = 0.0
        while True:
            self._pass_on(pid, watch)
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return status
            sample = sampling.sample(pid, memory)
            match watch.observe(sample):
                case Kill() as kill:
                    return self._kill(pid, kill)
                case Drain(activity=doing) if not self._has_peers:
                    return self._kill(pid, Kill("memory", doing, self._supervision.settings.watch.memory))
                case Drain() as drain:
                    self.is_replaced = True
                    os.kill(pid, signal.SIGTERM)
                    self._run_apart(self._supervision.report_drain(drain, self._name))
                case None if self._has_peers and watch.held_up_by(()) and not watch.has_only_page:
                    watch.has_only_page = True
                    self._run_apart(self._supervision.release_others(sample.activity))
                case None if watch.frozen_s >= ASK_AFTER_S and sample.at - asked_at >= ASK_EVERY_S:
                    asked_at = sample.at
                    watch.is_unwanted |= self._is_unwanted(sample.activity.worker_id)

    def _pass_on(self, pid: int, watch: ProcessWatch) -> None:
        """Wait for a signal until the next sample is due, and pass it on."""
        received = signal.sigtimedwait(AWAITED, POLL_S)
        if received is None:
            return
        number = signal.Signals(received.si_signo)
        if number in FORWARDED:
            self.is_stopping |= number in STOPPING
            watch.is_stopping = self.is_stopping
            os.kill(pid, number)
        elif number == SUSPENDING:
            os.kill(pid, signal.SIGSTOP)
            os.kill(os.getpid(), signal.SIGSTOP)
            os.kill(pid, signal.SIGCONT)

    def _kill(self, pid: int, kill: Kill) -> int:
        """Report a child and kill it; return its status. It is suspended first, so that nothing changes."""
        self.is_replaced = True
        os.kill(pid, signal.SIGSTOP)
        self._run_apart(self._supervision.report(kill, self._name))
        os.kill(pid, signal.SIGKILL)
        return os.waitpid(pid, 0)[1]

    def report_vanished(self, memory: mmap.mmap) -> None:
        """Report a child that vanished, and fail its run, which another child will say. Exit with `VANISHED`
        if it had no run, or shared it with other workers.
        """
        doing = activity.decode(memory)
        if not self._has_peers and self._run_apart(self._supervision.report_exit(doing, self._name)) == 0:
            return
        _exit_as_vanished()

    def report_signal(self, status: int) -> None:
        """Report a child that was ended by a signal that no one asked for."""
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) not in FORWARDED:
            hint = "" if self._has_peers else "; run the same command again to resume"
            self._report(f"{self._name} was ended by {signal.Signals(os.WTERMSIG(status)).name}{hint}")
            sys.stderr.flush()

    def _is_unwanted(self, worker_id: int) -> bool:
        return bool(worker_id) and self._run_apart(self._supervision.is_unwanted(worker_id)) == 0

    def _run_apart(self, work: Coroutine[Any, Any, str | bool | None]) -> int:
        """Run work in a process of its own: this one has no event loop and opens no store. Print a text that
        it returns; return 0 if it returns something true.
        """
        pid = os.fork()
        if pid:
            work.close()
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        code = 1
        try:
            die_with_parent()
            result = run_loop(work)
            if isinstance(result, str):
                self._report(result)
                sys.stderr.flush()
            code = 0 if result else 1
        finally:
            os._exit(code)
