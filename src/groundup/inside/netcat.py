"""The `nc` of guests: what scripts use of netcat-openbsd, over TCP and UDP on the loopback interface.

Runs inside, by the supervisor's interpreter, with the standard library only.
"""

import contextlib
import getopt
import os
import select
import socket
import sys

WRAPPER = """#!/bin/sh
export LD_LIBRARY_PATH=/.groundup/python/lib
exec /.groundup/python/bin/python3 -I -S -E -B /usr/lib/groundup/nc.py "$@"
"""
_USAGE = "usage: nc [-46klnNuvz] [-p port] [-q seconds] [-s address] [-w seconds] [host] port[-port]"
_CHUNK = 64 * 1024


class NetcatOptions:
    """What the command line asks for."""

    def __init__(self, argv: "list[str]") -> None:
        pairs, self.rest = getopt.gnu_getopt(argv, "46bCDdFhklnNrStUuvzI:i:M:m:O:P:p:q:s:T:V:W:w:X:x:")
        given = dict(pairs)
        self.listens, self.again, self.datagrams = "-l" in given, "-k" in given, "-u" in given
        self.verbose, self.scans, self.no_input = "-v" in given, "-z" in given, "-d" in given
        self.ends_at_input_end = "-N" in given or float(given.get("-q", -1)) >= 0
        self.wait_s = float(given["-w"]) if "-w" in given else None
        self.port, self.source = given.get("-p"), given.get("-s")
        self.family = socket.AF_INET6 if "-6" in given else socket.AF_INET if "-4" in given else socket.AF_UNSPEC

    @property
    def kind(self) -> "socket.SocketKind":
        return socket.SOCK_DGRAM if self.datagrams else socket.SOCK_STREAM


def say(options: NetcatOptions, text: str) -> None:
    """Tell people, when they asked for it."""
    if options.verbose:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def ports_of(text: str) -> "list[int]":
    """Return the ports of `80`, `80-90` or the name of a service."""
    first, _, last = text.partition("-")
    if not first.isdigit():
        return [socket.getservbyname(text)]
    return list(range(int(first), int(last or first) + 1))


def connect(options: NetcatOptions, host: str, port: int) -> "socket.socket | None":
    """Return a connected socket, or None."""
    problem: OSError | None = None
    try:
        addresses = socket.getaddrinfo(host, port, options.family, options.kind)
    except OSError as error:
        addresses, problem = [], error
    for family, kind, protocol, _, address in addresses:
        connection = socket.socket(family, kind, protocol)
        connection.settimeout(options.wait_s)
        try:
            if options.source or options.port:
                connection.bind((options.source or "", int(options.port or 0)))
            connection.connect(address)
            if options.datagrams and options.scans:
                connection.send(b"X")
                connection.settimeout(0.2)
                with contextlib.suppress(TimeoutError):
                    connection.recv(1)
        except OSError as error:
            connection.close()
            problem = error
        else:
            say(
                options, f"Connection to {host} {port} port [{'udp' if options.datagrams else 'tcp'}/*] succeeded!"
            )
            return connection
    why = problem.strerror if problem and problem.strerror else "timed out"
    way = "udp" if options.datagrams else "tcp"
    say(options, f"nc: connect to {host} port {port} ({way}) failed: {why}")
    return None


def relay(options: NetcatOptions, connection: socket.socket) -> None:
    """Copy standard input to *connection*, and what comes back to standard output."""
    connection.setblocking(True)
    sources: list[int] = [connection.fileno()] if options.no_input else [0, connection.fileno()]
    while connection.fileno() in sources:
        ready, _, _ = select.select(sources, [], [], options.wait_s)
        if not ready:
            return
        if connection.fileno() in ready:
            data = connection.recv(_CHUNK)
            if not data:
                return
            view = memoryview(data)
            while view:
                view = view[os.write(1, view) :]
        if 0 in ready:
            data = os.read(0, _CHUNK)
            if data:
                connection.sendall(data)
                continue
            sources.remove(0)
            if options.ends_at_input_end and not options.datagrams:
                connection.shutdown(socket.SHUT_WR)
            elif options.ends_at_input_end:
                return


def serve(options: NetcatOptions) -> int:
    """Listen, and relay one connection, or with -k one after another."""
    name = options.rest[0] if len(options.rest) > 1 else options.source or ""
    port = int(options.rest[-1] if options.rest else options.port or 0)
    family = socket.AF_INET6 if options.family == socket.AF_INET6 else socket.AF_INET
    listener = socket.socket(family, options.kind)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((name, port))
    if options.datagrams:
        _, peer = listener.recvfrom(_CHUNK, socket.MSG_PEEK)
        listener.connect(peer)
        relay(options, listener)
        return 0
    listener.listen(8)
    say(options, f"Listening on {name or 'any address'} {port}")
    while True:
        listener.settimeout(options.wait_s)
        connection, (host, peer, *_) = listener.accept()
        say(options, f"Connection received on {host} {peer}")
        with connection:
            relay(options, connection)
        if not options.again:
            return 0


def main(argv: "list[str]") -> int:
    """Return the exit code."""
    try:
        options = NetcatOptions(argv)
        if options.listens:
            return serve(options)
        host, wanted = options.rest
        ports = ports_of(wanted)
    except (getopt.GetoptError, ValueError) as error:
        sys.stderr.write(f"nc: {error}\n{_USAGE}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"nc: {error.strerror or error}\n")
        return 1
    reached = 0
    for port in ports:
        connection = connect(options, host, port)
        if connection is not None:
            reached += 1
            with connection:
                if not options.scans:
                    relay(options, connection)
    return 0 if reached else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (KeyboardInterrupt, BrokenPipeError, ConnectionError, TimeoutError):
        sys.exit(1)
