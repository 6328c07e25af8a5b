// What is chosen, kept in the address: a view can be bookmarked, and the browser's way back undoes a choice.

const WORDS = ["profile", "layout", "format", "query"];
const OTHER = ["profile", "layout", "format"];
const NUMBER = /^\d{1,12}$/;

export function read() {
  const given = new URLSearchParams(location.search);
  // "none" is no budget at all; a budget that is not named is the profile's.
  const number = (name) => (NUMBER.test(given.get(name) ?? "") ? Number(given.get(name)) : given.get(name) === "none" ? "none" : null);
  const options = (before) => Object.fromEntries([...given].filter(([name]) => name.startsWith(before)).flatMap(([name, value]) => {
    try {
      return [[name.slice(before.length), JSON.parse(value)]];
    } catch {
      return [];
    }
  }));
  return {
    view: { ...Object.fromEntries(WORDS.map((name) => [name, given.get(name)])), max_tokens: number("budget"), options: options("o.") },
    other: { ...Object.fromEntries(OTHER.map((name) => [name, given.get(`b.${name}`)])), max_tokens: number("b.budget"), options: options("b.o.") },
    tokens: given.get("tokens") === "1",
    heat: given.get("heat") === "1",
    compare: given.get("compare") === "1",
    mode: ["read", "repository", "template"].includes(given.get("mode")) ? given.get("mode") : null, // null: as the preview was started
    file: given.get("file"),
    pane: given.get("pane") ?? "prompt",
    show: given.get("show") ?? "text",
    to: given.get("to") ?? "openai",
  };
}

export function write(state, { push = false } = {}) {
  const kept = new URLSearchParams();
  const put = (name, value) => value !== null && value !== undefined && kept.set(name, value);
  const putOptions = (before, options) => Object.entries(options).forEach(([name, value]) => kept.set(before + name, JSON.stringify(value)));
  WORDS.forEach((name) => put(name, state.view[name]));
  put("budget", state.view.max_tokens);
  putOptions("o.", state.view.options);
  if (state.tokens) put("tokens", 1);
  if (state.heat) put("heat", 1);
  if (state.compare) {
    put("compare", 1);
    OTHER.forEach((name) => put(`b.${name}`, state.other[name]));
    put("b.budget", state.other.max_tokens);
    putOptions("b.o.", state.other.options);
  }
  put("mode", state.mode);
  put("file", state.file);
  if (state.pane !== "prompt") put("pane", state.pane);
  if (state.show !== "text") put("show", state.show);
  if (state.show === "request") put("to", state.to);
  const query = kept.toString();
  const address = query ? `?${query}` : location.pathname;
  if (push && address !== location.search) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

// A view as the server takes it: `null` leaves a choice to the command line and the profile, an empty query is none at all.
export function asked(view) {
  const kept = Object.fromEntries(Object.entries(view).filter(([, value]) => value !== null));
  kept.options = { ...kept.options };
  if (kept.max_tokens !== "none") return kept;
  const { max_tokens: _, ...others } = kept;
  return { ...others, options: { ...kept.options, max_tokens: null } };
}

// The second view: its own choices over those of the first.
export function askedOther(state) {
  const options = { ...state.view.options, ...state.other.options };
  const other = asked({ ...state.other, options: {} });
  return { ...asked({ ...state.view, ...(other.max_tokens === undefined ? {} : { max_tokens: null }) }), ...other, options: { ...options, ...other.options } };
}
