// The REST interface. Errors are problem details: what is wrong, and the way out.

const PREFIX = "/api/v1";

/** What the daemon refused, or why it could not be asked. */
export class Trouble extends Error {
  /** @param {{status: number, detail: string, hint?: string, title?: string}} problem */
  constructor(problem) {
    super(problem.detail);
    this.status = problem.status;
    this.hint = problem.hint ?? null;
  }

  /** Whether nobody answered at all. */
  get isAway() {
    return this.status === 0;
  }
}

let onVoid = () => {};

/** What is to be done when the session has ended. */
export function whenLoggedOut(run) {
  onVoid = run;
}

async function send(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Trouble({ status: 0, detail: "the daemon does not answer", hint: "this page tries again by itself" });
  }
  if (response.ok) return response.status === 204 ? null : response.json();
  const problem = await response.json().catch(() => ({ detail: `the daemon answered ${response.status}` }));
  if (response.status === 401 && path.startsWith(PREFIX)) onVoid();
  throw new Trouble({ ...problem, status: response.status });
}

function withBody(method, body) {
  return { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

/** Parameters of a query; what is undefined is left out. */
export function query(params) {
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? "?" + new URLSearchParams(given) : "";
}

/** A part of a path. */
export function part(name) {
  return encodeURIComponent(name);
}

export const api = {
  get: (path, options) => send(PREFIX + path, options),
  post: (path, body, options) => send(PREFIX + path, { ...withBody("POST", body ?? {}), ...options }),
  patch: (path, body) => send(PREFIX + path, withBody("PATCH", body)),
  put: (path, body) => send(PREFIX + path, withBody("PUT", body)),
  session: () => send("/session"),
  enter: (what) => send("/session", withBody("POST", what)),
  leave: () => send("/session/end", withBody("POST", {})),
};

/** All pages of a list, up to a limit. */
export async function all(path, field, params = {}, most = 5000) {
  const found = [];
  let after;
  do {
    const page = await api.get(path + query({ limit: 1000, ...params, after }));
    found.push(...page[field]);
    after = page.next ?? undefined;
  } while (after && found.length < most);
  return found;
}
