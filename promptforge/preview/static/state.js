// What is chosen, kept in the address so that a view can be bookmarked.

const WORDS = ["profile", "layout", "format", "query"];
const OTHER = ["profile", "layout", "format"];

export function read() {
  const given = new URLSearchParams(location.search);
  const number = (name) => (/^\d{1,12}$/.test(given.get(name) ?? "") ? Number(given.get(name)) : null);
  return {
    view: { ...Object.fromEntries(WORDS.map((name) => [name, given.get(name)])), max_tokens: number("budget") },
    other: { ...Object.fromEntries(OTHER.map((name) => [name, given.get(`b.${name}`)])), max_tokens: number("b.budget") },
    tokens: given.get("tokens") === "1",
    compare: given.get("compare") === "1",
    file: given.get("file"),
    pane: given.get("pane") ?? "prompt",
    show: given.get("show") ?? "text",
    to: given.get("to") ?? "openai",
  };
}

export function write(state) {
  const kept = new URLSearchParams();
  const put = (name, value) => value !== null && value !== undefined && value !== "" && kept.set(name, value);
  WORDS.forEach((name) => put(name, state.view[name]));
  put("budget", state.view.max_tokens);
  if (state.tokens) put("tokens", 1);
  if (state.compare) {
    put("compare", 1);
    OTHER.forEach((name) => put(`b.${name}`, state.other[name]));
    put("b.budget", state.other.max_tokens);
  }
  put("file", state.file);
  if (state.pane !== "prompt") put("pane", state.pane);
  if (state.show !== "text") put("show", state.show);
  if (state.show === "request") put("to", state.to);
  const query = kept.toString();
  history.replaceState(null, "", query ? `?${query}` : location.pathname);
}

// A view as the server takes it: what is empty is left to the command line and the profile.
export function asked(view) {
  return Object.fromEntries(Object.entries(view).filter(([, value]) => value !== null && value !== ""));
}
