"""A process gives up for good what it does not need: the network, other files, other processes.

Three walls of Linux, each of which holds by itself: `no_new_privs`, a seccomp filter of system calls, and Landlock for
files. It imports the standard library only, because the children that use it have nothing else. Sources: the kernel's
`Documentation/userspace-api` (no_new_privs, seccomp_filter, landlock) and the tables of system calls of x86-64 and arm64.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import stat
import struct
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_PR_SET_NO_NEW_PRIVS: Final = 38
_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446
_VERSION: Final = 1
_PATH_BENEATH: Final = 1

_READ_FILE: Final = 1 << 2
_READ_DIR: Final = 1 << 3
_OF_FILES: Final = 1 << 0 | 1 << 1 | _READ_FILE | 1 << 14 | 1 << 15
"""What a rule of a single file may hold: run, write, read, truncate, ioctl."""
_EXECUTE: Final = 1 << 0
_RIGHTS_BY_ABI: Final = ((1, 13), (2, 14), (3, 15), (5, 16))
"""From which version on how many rights to files are known; an unknown one is refused by the kernel."""
_NETWORK: Final = 0b11
_SCOPES: Final = 0b11

_ALLOW: Final = 0x7FFF0000
_KILL: Final = 0x80000000
_ERRNO: Final = 0x00050000
_LOAD: Final = 0x20
_EQUAL: Final = 0x15
_AT_LEAST: Final = 0x35
_HAS_BITS: Final = 0x45
_RETURN: Final = 0x06
_X32: Final = 0x40000000
_FIRST_ARGUMENT: Final = 16
_CLONE_THREAD: Final = 0x00010000


@dataclass(frozen=True, slots=True)
class _Machine:
    """The numbers of one processor's system calls.

    `denied`: network, programs, other processes, the kernel itself; `own`: those that name a process, and may name this one alone.
    """

    arch: int
    seccomp: int
    clone: int
    own: tuple[int, ...]
    denied: tuple[int, ...]


_EVERYWHERE: Final = (424, 425, 426, 427, 434, 438, 440)
"""pidfd_send_signal, io_uring, pidfd_open, pidfd_getfd, process_madvise."""
_ON_X86_64: Final = (
    *(41, 42, 43, 49, 50, 288),  # socket, connect, accept, bind, listen, accept4
    *(57, 58, 59, 322),  # fork, vfork, execve, execveat
    *(101, 310, 311, 312, 272, 308),  # ptrace, process_vm_readv and _writev, kcmp, unshare, setns
    *(165, 166, 155, 161, 135),  # mount, umount2, pivot_root, chroot, personality
    *(321, 298, 248, 249, 250, 323),  # bpf, perf_event_open, add_key, request_key, keyctl, userfaultfd
    *(303, 304, 175, 313, 176, 246, 320),  # files by handle, modules, kexec
    *(200, 129, 297),  # tkill, rt_sigqueueinfo, rt_tgsigqueueinfo
    *(29, 30, 31, 64, 65, 66, 68, 69, 70, 71, 240),  # shared memory, semaphores and queues, which have no path
)
_ON_ARM64: Final = (
    *(198, 203, 202, 200, 201, 242),
    *(221, 281),
    *(117, 270, 271, 272, 97, 268),
    *(40, 39, 41, 51, 92),
    *(280, 241, 217, 218, 219, 282),
    *(264, 265, 105, 273, 106, 104, 294),
    *(130, 138, 240),
    *(194, 195, 196, 190, 191, 193, 186, 187, 188, 189, 180),
)
_MACHINES: Final = {  # `own`: kill, tgkill, prlimit64
    "x86_64": _Machine(0xC000003E, 317, 56, (62, 234, 302), (*_ON_X86_64, *_EVERYWHERE)),
    "aarch64": _Machine(0xC00000B7, 277, 220, (129, 131, 261), (*_ON_ARM64, *_EVERYWHERE)),
}
_CLONE3: Final = 435


class SandboxError(OSError):
    """A wall that the kernel offers could not be raised."""


@dataclass(frozen=True, slots=True)
class Walls:
    """What this kernel offers. `landlock`: its version, 0 where there is none."""

    landlock: int = 0
    has_seccomp: bool = False

    @property
    def missing(self) -> tuple[str, ...]:
        """Return in words what a child can do here because a wall is missing."""
        return (
            *(() if self.landlock else ("no Landlock: it can read every file of its user",)),
            *(() if self.has_seccomp else ("no seccomp filter: it can open network connections",)),
        )


def offered_walls() -> Walls:
    """Return what this kernel offers; nothing is restricted."""
    if not sys.platform.startswith("linux"):
        return Walls()
    abi = _libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)
    has_seccomp = platform.machine() in _MACHINES and os.access("/proc/sys/kernel/seccomp", os.F_OK)
    return Walls(max(0, abi), has_seccomp=has_seccomp)


def program_paths() -> tuple[str, ...]:
    """Return the folders and files that a Python program reads while it runs, whatever it works on."""
    folders = (*sys.path, *(sysconfig.get_paths().get(name, "") for name in ("stdlib", "platstdlib")))
    return (
        *folders,
        "/lib",
        "/lib64",
        "/usr/lib",
        "/usr/share/zoneinfo",
        "/etc/localtime",
        "/dev/urandom",
        "/proc/self/cgroup",
        "/sys/fs/cgroup",
    )


def enter_sandbox(walls: Walls, *, reads: Sequence[str], writes: Sequence[str] = ()) -> None:
    """Give up everything but reading `reads` and changing what is in `writes`, for all threads that start from now on.

    Paths that do not exist are left out. It cannot be undone. SandboxError where a wall that the kernel offers fails.
    """
    if not (walls.landlock or walls.has_seccomp):
        return
    _check(_libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    if walls.landlock:
        _restrict_files(walls.landlock, (*reads, *program_paths()), (*writes, "/dev/null"))
    if walls.has_seccomp:
        _filter_calls(_MACHINES[platform.machine()])


def _restrict_files(abi: int, reads: Sequence[str], writes: Sequence[str]) -> None:
    known = max(count for version, count in _RIGHTS_BY_ABI if version <= abi)
    all_rights = (1 << known) - 1
    parts = [all_rights, *([_NETWORK] if abi >= 4 else []), *([_SCOPES] if abi >= 6 else [])]
    attributes = struct.pack(f"={len(parts)}Q", *parts)
    libc = _libc()
    ruleset = libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    _check(ruleset, "landlock")
    try:
        for path in dict.fromkeys(reads):
            _allow(ruleset, path, (_READ_FILE | _READ_DIR) & all_rights)
        for path in dict.fromkeys(writes):
            _allow(ruleset, path, all_rights & ~_EXECUTE)
        _check(libc.syscall(_RESTRICT_SELF, ruleset, 0), "landlock")
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    if not path:
        return
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        is_folder = stat.S_ISDIR(os.fstat(place).st_mode)
        rule = struct.pack("=Qi", rights if is_folder else rights & _OF_FILES, place)
        _check(_libc().syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0), "landlock")
    finally:
        os.close(place)


def _filter_calls(machine: _Machine) -> None:
    refused = _ERRNO | errno.EPERM
    steps: list[tuple[int, int, int, int]] = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, machine.arch),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),
    ]
    if machine.arch == _MACHINES["x86_64"].arch:
        steps += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, refused)]
    for number in machine.denied:
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, refused)]
    for number in machine.own:
        steps += [
            (_EQUAL, 0, 5, number),
            (_LOAD, 0, 0, _FIRST_ARGUMENT),
            (_EQUAL, 2, 0, os.getpid()),
            # No process at all is the caller where limits are read, and the whole group, its parent too, where signals are sent.
            (_EQUAL, 1, 0, 0 if number == machine.own[-1] else os.getpid()),
            (_RETURN, 0, 0, refused),
            (_RETURN, 0, 0, _ALLOW),
        ]
    # The C library starts threads by clone then, whose flags a filter can read.
    steps += [(_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    steps += [
        (_EQUAL, 0, 3, machine.clone),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_HAS_BITS, 1, 0, _CLONE_THREAD),
        (_RETURN, 0, 0, refused),
    ]
    steps.append((_RETURN, 0, 0, _ALLOW))
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    filter_ = struct.pack("@HP", len(steps), ctypes.addressof(program))
    threads_too = 1
    _check(_libc().syscall(machine.seccomp, 1, threads_too, filter_), "seccomp")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, wall: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise SandboxError(number, f"{wall}: {os.strerror(number)}")
