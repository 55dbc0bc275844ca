"""Run a command that is killed when it uses the network: `no_network.py [--server] COMMAND...`.

A seccomp filter, which all processes and threads of the command inherit, allows Unix sockets and answers
socket(AF_INET) and socket(AF_INET6) with SIGSYS. For a server, which needs such sockets, it answers connect() with
SIGSYS instead. The filter also applies to libraries written in C. Linux on x86-64 or ARM.
"""

import ctypes
import os
import platform
import socket
import struct
import sys

SOCKET_CALL = {"x86_64": 41, "aarch64": 198}  # numbers of the system calls
CONNECT_CALL = {"x86_64": 42, "aarch64": 203}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
ALLOW, KILL_PROCESS = 0x7FFF0000, 0x80000000
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06  # BPF operations on 32-bit words
NUMBER_AT, FAMILY_AT = 0, 16  # offsets in struct seccomp_data


def forbid_network(*, server: bool) -> None:
    """Install the filter in this process."""
    no_connection = [
        (LOAD, 0, 0, NUMBER_AT),
        (JUMP_EQUAL, 0, 1, CONNECT_CALL[platform.machine()]),
        (RETURN, 0, 0, KILL_PROCESS),
        (RETURN, 0, 0, ALLOW),
    ]
    no_socket = [
        (LOAD, 0, 0, NUMBER_AT),
        (JUMP_EQUAL, 0, 4, SOCKET_CALL[platform.machine()]),
        (LOAD, 0, 0, FAMILY_AT),
        (JUMP_EQUAL, 1, 0, socket.AF_INET),
        (JUMP_EQUAL, 0, 1, socket.AF_INET6),
        (RETURN, 0, 0, KILL_PROCESS),
        (RETURN, 0, 0, ALLOW),
    ]
    program = no_connection if server else no_socket
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = [(PR_SET_NO_NEW_PRIVS, 1), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(header))]
    for first, *rest in arguments:
        padded = [ctypes.c_ulong(value) for value in (*rest, 0, 0, 0, 0)[:4]]
        if libc.prctl(ctypes.c_int(first), *padded):
            raise OSError(ctypes.get_errno(), "the kernel refuses the filter")


if __name__ == "__main__":
    _, *command = sys.argv
    server = command[0] == "--server"
    forbid_network(server=server)
    os.execvp(command[server], command[server:])
