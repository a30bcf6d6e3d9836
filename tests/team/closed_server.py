"""Runs the Milvus server of the package `milvus` so that only 127.0.0.1 reaches it; run by the Python of that package.

    python closed_server.py PORT FOLDER

That server listens on every address of the machine, and no setting changes it. So it gets a network of its own, in which
there is nothing but a loopback, and this process passes on what comes to 127.0.0.1:PORT. It needs Linux with user
namespaces. It ends the server when its stdin closes.
"""

# ruff: noqa: T201 - printing is what it does
from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import struct
import sys
import threading

NEW_USER, NEW_NET = 0x10000000, 0x40000000
_SET_FLAGS, _UP = 0x8914, 0x1
_INSIDE = 19530


def enter_own_network() -> None:
    """Leave the network of the machine for one of this process and its children."""
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_USER | NEW_NET):
        raise OSError(ctypes.get_errno(), "no namespace for a network of its own")
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123 - the package's Python may be old
            file.write(text)
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh", b"lo", _UP) + bytes(14))


def pass_on(source: socket.socket, target: socket.socket) -> None:
    """Copy what comes from one connection to another until it ends."""
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


def serve(listener: socket.socket) -> None:
    """Connect whoever comes with the server."""
    while True:
        outside, _ = listener.accept()
        try:
            inside = socket.create_connection(("127.0.0.1", _INSIDE))
        except OSError:
            outside.close()
            continue
        for one in (outside, inside):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=pass_on, args=(outside, inside), daemon=True).start()
        threading.Thread(target=pass_on, args=(inside, outside), daemon=True).start()


def main(port: int, folder: str) -> None:
    """Start the server and say so, then pass connections on until stdin closes."""
    # A socket stays in the network in which it was made.
    listener = socket.create_server(("127.0.0.1", port))
    enter_own_network()
    from milvus import MilvusServer, MilvusServerConfig

    server = MilvusServer(MilvusServerConfig(data_dir=folder, proxy_port=_INSIDE))
    server.start()
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()
    server.stop()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
