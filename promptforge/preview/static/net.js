// Speaking to the server that sent this page, and to nobody else.

const WRITES = { "Content-Type": "application/json", "X-Promptforge": "1" };

async function answer(response) {
  if (response.headers.get("content-type") !== "application/json") {
    const gone = response.status === 403;
    throw new Error(gone ? "The preview was started anew: open the link that the terminal shows." : await response.text());
  }
  return response.json();
}

export async function get(path) {
  return answer(await fetch(path));
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
    return { status: 0, error };
  }
}

// Calls `heard` for each change of a file, and `lost(true)` while the server does not answer.
export function listen(heard, lost) {
  const source = new EventSource("/api/events");
  source.addEventListener("hello", () => lost(false));
  source.addEventListener("change", () => heard());
  source.addEventListener("error", () => lost(true));
}

// Only the newest of several requests counts: an older one is given up.
export function newest(path) {
  let current = null;
  return async (body) => {
    current?.abort();
    const mine = (current = new AbortController());
    try {
      const found = await ask(path, body, mine.signal);
      return mine === current && !found.overtaken ? found : null;
    } catch (error) {
      if (mine !== current || error.name === "AbortError") return null;
      return { error: { kind: "server", message: error instanceof TypeError ? "The preview does not answer." : error.message } };
    }
  };
}
