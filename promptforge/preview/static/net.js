// Speaking to the server that sent this page, and to nobody else.

const SENT = { "X-Promptforge": readKey() };
const WRITES = { ...SENT, "Content-Type": "application/json" };
const GONE = "Lost the connection: is promptforge still running?";
const TAB = Array.from(crypto.getRandomValues(new Uint32Array(3)), (part) => part.toString(36)).join("");

// The key comes with the link, once. The storage is this port's alone, as no cookie is.
function readKey() {
  const found = location.hash.match(/^#key=(.+)$/)?.[1];
  if (found) history.replaceState(null, "", location.pathname + location.search);
  try {
    if (found) localStorage.setItem("key", found);
    return found ?? localStorage.getItem("key") ?? "";
  } catch {
    return found ?? ""; // a browser that stores nothing
  }
}

async function answer(response) {
  if (response.headers.get("content-type") !== "application/json") {
    const gone = response.status === 403;
    throw new Error(gone ? "This link belongs to an earlier run. Open the newest link in your terminal." : await response.text());
  }
  return response.json();
}

export async function get(path) {
  return answer(await fetch(path, { headers: SENT }));
}

export async function ask(path, body, signal) {
  return answer(await fetch(path, { method: "POST", headers: WRITES, body: JSON.stringify(body), signal }));
}

// Writes, if the server still has what was seen: the version `tag`.
export async function put(path, body, tag) {
  const headers = { ...WRITES, "If-Match": `"${tag}"` };
  try {
    const response = await fetch(path, { method: "PUT", headers, body: JSON.stringify(body) });
    return { status: response.status, ...(await answer(response)) };
  } catch (error) {
    return { status: 0, error: error instanceof TypeError ? { message: `${GONE} Nothing is saved; it stays on this page.` } : error };
  }
}

// Calls `heard(number)` for each change of a file, and `lost(true)` while the server does not answer.
// A browser opens six connections to a host, so its pages share one stream: one of them holds it and tells the others.
export function listen(heard, lost) {
  const channel = new BroadcastChannel("promptforge");
  const hear = ({ number, gone }) => (gone ? lost(true) : (lost(false), heard(number)));
  channel.addEventListener("message", (event) => hear(event.data));
  const tell = (news) => {
    channel.postMessage(news);
    hear(news);
  };
  // The lock is held until this page closes; then another page gets it, and opens the stream.
  navigator.locks.request("promptforge-events", () => new Promise(() => open(tell)));
}

function open(tell) {
  const source = new EventSource("/api/events");
  for (const name of ["hello", "change"]) source.addEventListener(name, (event) => tell({ number: Number(event.data) }));
  source.addEventListener("error", () => tell({ gone: true }));
}

// Only the newest of several requests counts: an older one is given up. The newest asks again if the server takes it for
// an older one: on two connections, one that was given up may arrive last.
export function newest(path) {
  let current = null;
  return async function send(body) {
    current?.abort();
    const mine = (current = new AbortController());
    try {
      const found = await ask(path, { ...body, tab: TAB }, mine.signal);
      if (mine !== current) return null;
      return found.overtaken ? send(body) : found;
    } catch (error) {
      if (mine !== current || error.name === "AbortError") return null;
      return { error: { kind: "server", message: error instanceof TypeError ? GONE : error.message } };
    }
  };
}
