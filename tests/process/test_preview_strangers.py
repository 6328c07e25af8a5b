"""The preview beside strangers in one real browser: other pages, and items that are pages."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from preview_browser import CHROMIUM, Opener, entered, needs_browser, settled, until
from preview_process import Preview, preview

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [needs_browser, pytest.mark.slow]
LIVE = (
    "<script>window.owned=1</script><img src=x onerror=window.owned=1><style>*{display:none}</style>"
    "<svg onload=window.owned=1><iframe srcdoc='<script>parent.owned=1</script>'></iframe>"
    "<a href=javascript:owned=1>a</a><base href=//evil.example><meta http-equiv=refresh content=0>"
    "\u202e\u2066\u200b{{ 7*7 }}${7*7}</textarea></title></script>--><!--]]>\"'><b class=mark>"
)
HOSTILE = [
    {
        "kind": kind,
        "id": f"{LIVE}{kind}",
        "name": LIVE,
        "path": f"{LIVE}/{kind}.py",
        "url": f"javascript:window.owned=1//{LIVE}",
        "language": LIVE,
        "summary": LIVE,
        "content": LIVE * 3,
        "metadata": {LIVE: LIVE, "source": LIVE, "title": LIVE},
    }
    for kind in ("code", "document", "error", "man_page", "mitre_attack", 'x"><script>')
]
# Each way in that a browser has; what comes back is noted, if anything does.
STRANGER = """<!doctype html><meta charset=utf-8><body><script>
const at = AT, seen = [], asked = [];
const note = (what, got) => { seen.push([what, String(got)]); };
const ask = (path, settings) => asked.push(fetch(at + path, {credentials: "include", ...settings})
  .then(async (r) => note(path, r.type === "opaque" ? r.type : await r.text()), () => 0));
for (const path of ["/", "/app.js", "/api/start", "/api/words", "/api/events"])
  for (const mode of ["cors", "no-cors"]) ask(path, {mode});
const body = '{"text": "[]", "name": "x.json"}';
for (const path of ["/api/page", "/api/items", "/api/files/x", "/api/cases"])
  for (const method of ["POST", "PUT", "DELETE"]) {
    ask(path, {method, body, mode: "no-cors", headers: {"content-type": "text/plain"}});
    ask(path, {method, body, headers: {"content-type": "application/json", "x-promptforge": "1"}});
  }
const heard = (source, what) => asked.push(new Promise((done) => {
  source.onopen = () => { note(what, "open"); done(); };
  source.onerror = () => { source.close(); done(); };
}));
heard(new EventSource(at + "/api/events", {withCredentials: true}), "events");
heard(new WebSocket(at.replace("http", "ws") + "/api/events"), "websocket");
for (const [tag, key, path] of [["script", "src", "/app.js"], ["img", "src", "/favicon.svg"],
  ["link", "href", "/style.css"], ["iframe", "src", "/"]])
  asked.push(new Promise((done) => {
    const made = Object.assign(document.createElement(tag), {[key]: at + path, rel: "stylesheet"});
    made.onload = () => { if (tag !== "iframe" || made.contentDocument) note(tag, path); done(); };
    made.onerror = done;
    document.body.append(made);
  }));
const form = document.createElement("form");
Object.assign(form, {method: "post", action: at + "/api/items", enctype: "text/plain", target: "out"});
const field = document.createElement("input");
Object.assign(field, {name: '{"text":"[]","name":"x.json","a":"', value: '"}'});
form.append(field);
document.body.append(Object.assign(document.createElement("iframe"), {name: "out"}), form);
form.submit();
const late = new Promise((done) => setTimeout(done, 8000));
Promise.race([Promise.all(asked), late]).then(() => { window.done = seen; });
</script>"""


@contextlib.contextmanager
def serving(page: str) -> Iterator[int]:
    """Serve one page on a port of this machine."""

    class Stranger(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture(scope="module")
def besieged(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preview]:
    folder = tmp_path_factory.mktemp("besieged")
    (folder / "templates").mkdir()
    with preview(folder, "--templates", folder / "templates", "--edit", items=HOSTILE) as running:
        yield entered(browser, running)


@pytest.mark.parametrize(
    ("page_at", "asked_at"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("localhost", "127.0.0.1"),
        ("evil.example", "127.0.0.1"),
        ("evil.example", "evil.example"),
    ],
)
def test_a_page_elsewhere_reaches_nothing(
    besieged: Preview, browser: Browser, page_at: str, asked_at: str
) -> None:
    at = json.dumps(f"http://{asked_at}:{besieged.port}")
    rebound = "--host-resolver-rules=MAP evil.example 127.0.0.1"
    name, _, value = besieged.cookie.partition("=")
    with serving(STRANGER.replace("AT,", f"{at},", 1)) as port:
        one = browser.browser_type.launch(executable_path=CHROMIUM, args=["--no-sandbox", rebound])
        context = one.new_context()
        for host in {"127.0.0.1", page_at, asked_at}:
            url = f"http://{host}/"
            context.add_cookies([{"name": name, "value": value, "url": url, "sameSite": "Strict"}])
        page = context.new_page()
        page.goto(f"http://{page_at}:{port}/")
        until(lambda: page.evaluate("window.done !== undefined"))
        assert page.evaluate("window.done") == []
        one.close()
    assert besieged.request("/api/start").json()["items"] == len(HOSTILE)


@pytest.mark.slow
def test_items_that_are_pages_stay_text(besieged: Preview, open_page: Opener) -> None:
    page = open_page(besieged, wait=False)
    settled(page)
    live = (
        "window.owned || document.querySelectorAll('script:not([src]), img, iframe, object, base,"
        " meta[http-equiv], textarea.mark, a[href^=javascript], [onload], [onerror], b.mark').length"
    )
    for button in page.query_selector_all("button:visible"):
        # In the page: a press draws others anew, between a look at one and its click.
        button.evaluate("each => each.isConnected && each.checkVisibility() && each.click()")
        assert not page.evaluate(live)
    assert page.title().endswith("promptforge preview") and "evil" not in page.url
