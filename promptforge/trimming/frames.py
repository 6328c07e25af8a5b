"""The package that a frame of a stack trace belongs to."""

from __future__ import annotations

import re

# The package of a library's frame is in the one group that matched; an empty group stands for the
# language itself.
_LIBRARY = re.compile(
    r"""(?x)
      [\\/](?:site|dist)-packages[\\/](?P<python>[^\\/"]+)
    | [\\/](?:lib64|lib|Lib)[\\/]python[\d.]*[\\/](?!(?:site|dist)-packages)(?P<stdlib>[^\\/"]+)
    | <(?P<frozen>frozen\ [\w.]+|string|__array_function__\ internals)>
    | [\\/]Lib[\\/](?!site-packages)(?P<windows>[\w.]+)
    | node_modules[\\/](?P<npm>(?:@[^\\/]+[\\/])?[^\\/:)]+)
    | \((?P<node>node|internal|native|webpack-internal|<anonymous>)[:)\\/]
    | \bat\ (?P<node2>node|internal|native):
    | \bat\ (?:[\w.]+/+)?(?P<java>
        (?:java|javax|jakarta|jdk|sun|kotlin|kotlinx|scala|android|androidx|reactor|akka|junit|
        groovy)\b | (?:com\.sun|com\.google\.common|com\.fasterxml|com\.zaxxer|com\.android|dalvik|
        org\.(?:springframework|apache|hibernate|junit|eclipse|jboss|gradle|slf4j|mockito|codehaus|
        aspectj|postgresql)|io\.(?:netty|reactivex|micrometer|grpc|vertx|quarkus|micronaut|undertow|
        ktor))\b | System | Microsoft)\.
    | /(?:pkg/mod|vendor)/(?P<go>[\w.-]+(?:/[\w.-]+){0,2})
    | /(?:usr/local/go|usr/lib/go[\w.-]*|opt/go|goroot|go)/src/(?P<gostd>[\w]+)/
    | ^(?P<goruntime>runtime)[./]
    | (?:registry/src/[^/]+|git/checkouts)/(?P<crate>[\w-]+?)(?:-\d[\w.+-]*)?/
    | /rustc/[^/]+/(?:library|src)/(?:lib)?(?P<ruststd>\w+)
    | ^\s*\d+:\s+(?:0x[0-9a-f]+\s+-\s+)?<?(?P<rust>std|core|alloc|backtrace|tokio|rayon|
        futures\w*|rust_begin_unwind|__libc_start_\w+|_start|__rust_\w+|main$)\b
    | /usr/(?:lib|share|local/lib)/(?!python|node_modules)(?P<system>[^/"]+)
    """,
    re.MULTILINE,
)


def package_of(frame: str) -> str | None:
    """Return the library that a frame belongs to; None for the program's own."""
    found = _LIBRARY.search(frame[:2000])
    if found is None:
        return None
    name = next((name for name in found.groups() if name), "")
    return name.removesuffix(".py") or None
