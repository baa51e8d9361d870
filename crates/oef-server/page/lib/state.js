// What all views share: who is logged in, and the cluster at a glance.

import { api } from "./api.js";
import { learn } from "./colour.js";

export const state = {
  /** @type {{logged_in: boolean, role?: string, tenant?: string, expires_ms?: number, version: string}|null} */
  who: null,
  /** The last overview. */
  overview: null,
  /** When it came. */
  at: 0,
  /** The daemon's clock minus this browser's. */
  skew: 0,
};

/** The daemon's time. */
export function now() {
  return Date.now() + state.skew;
}

/** Asks for the overview anew. */
export async function look() {
  const overview = await api.get("/overview");
  state.overview = overview;
  state.at = Date.now();
  state.skew = overview.now_ms - Date.now();
  learn(overview.tenants);
  return overview;
}

/** Whether the caller may change what belongs to all. */
export function isAdmin() {
  return state.who?.role === "admin";
}

/** Whether the caller may look after machines. */
export function mayOperate() {
  return isAdmin() || state.who?.role === "operator";
}

/** Whether the caller may change what belongs to a tenant. */
export function mayChange(tenant) {
  return isAdmin() || (state.who?.role === "tenant" && state.who.tenant === tenant);
}

/** Whether the caller sees other tenants' things. */
export function seesAll() {
  return state.who?.role !== "tenant";
}
