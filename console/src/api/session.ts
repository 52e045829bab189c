/**
 * The session of this browser. A cookie that no script can read holds it; the page gets short access tokens for it
 * and keeps them in memory. Calls need nothing but `accessToken()`.
 */
import { reactive, readonly } from "vue";
import { reportHeard, reportLost } from "@/api/connection";
import { Problem, problemOf, unreachable } from "@/api/problem";

export interface Me {
  name: string;
  role: string;
  scopes: string[];
  may: string[];
  kind: "user" | "token" | "installation";
}
export interface About {
  version: string;
  capabilities: string[];
}
export type Credentials = { username: string; password: string } | { token: string } | { link: string };
export type SessionState = "starting" | "in" | "out" | "unreachable";

interface Renewed {
  access_token: string;
  expires_in: number;
}

const SESSION = "/api/auth/session";
const RENEW_BEFORE_MS = 60_000;
const RETRY_MS = 3_000;
const LINK = /^#link=([\w-]+)$/;

const state = reactive({
  state: "starting" as SessionState,
  me: null as Me | null,
  about: null as About | null,
  /** Why the sign-in of a link failed. */
  problem: null as Problem | null,
});
export const session = readonly(state);

let token = "";
let expiresAt = 0;
let renewing: Promise<boolean> | null = null;
const others = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("smartspider.session");
if (others) {
  others.onmessage = ({ data }) => {
    if (data === "out") signedOut();
    else if (state.state !== "in") void startSession();
  };
}

/** Sign in by the link of the fragment, or continue the session of the cookie. */
export async function startSession(): Promise<void> {
  const link = LINK.exec(location.hash)?.[1];
  if (link) {
    // The secret must not stay in the history.
    history.replaceState(history.state, "", location.pathname + location.search);
    try {
      await signIn({ link });
      return;
    } catch (error) {
      state.problem = error as Problem;
    }
  }
  await renew();
}

/** Start a session; throws a `Problem`. */
export async function signIn(credentials: Credentials): Promise<void> {
  await accept(await call<Renewed>("POST", SESSION, credentials));
  state.problem = null;
  others?.postMessage("in");
}

/** End this session, or all sessions of the user, here and on the server. */
export async function signOut(everywhere = false): Promise<void> {
  await accessToken();
  await call("DELETE", everywhere ? `${SESSION}?everywhere=true` : SESSION);
  state.me = null;
  signedOut();
  others?.postMessage("out");
}

/** Return a valid access token, renewed if it is about to expire; empty when signed out. */
export async function accessToken(): Promise<string> {
  if (token && Date.now() < expiresAt - RENEW_BEFORE_MS) return token;
  await renew();
  return token;
}

/** Get the next access token for the cookie; false when the session is over. Calls at the same time share one. */
export function renew(): Promise<boolean> {
  renewing ??= renewOnce().finally(() => (renewing = null));
  return renewing;
}

export function can(scope: string | undefined): boolean {
  return scope === undefined || (state.me?.may.includes(scope) ?? false);
}

async function renewOnce(): Promise<boolean> {
  try {
    await accept(await call<Renewed>("POST", `${SESSION}/renew`));
    return true;
  } catch (error) {
    const problem = error as Problem;
    if (problem.status === 401 || problem.status === 403) signedOut();
    else if (state.state !== "in") {
      state.state = "unreachable";
      setTimeout(() => state.state === "unreachable" && void renew(), RETRY_MS);
    }
    return false;
  }
}

async function accept(renewed: Renewed): Promise<void> {
  token = renewed.access_token;
  expiresAt = Date.now() + renewed.expires_in * 1000;
  if (state.state === "in") return;
  const [me, about] = await Promise.all([call<Me>("GET", "/api/auth/me"), call<About>("GET", "/api/about")]);
  state.me = me;
  state.about = about;
  state.state = "in";
}

function signedOut(): void {
  token = "";
  expiresAt = 0;
  state.state = "out";
}

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const headers: Record<string, string> = token ? { Authorization: `Bearer ${token}` } : {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const init: RequestInit = { method, headers, credentials: "same-origin" };
  if (body !== undefined) init.body = JSON.stringify(body);
  const askedAt = Date.now();
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch {
    reportLost();
    throw unreachable();
  }
  reportHeard(askedAt);
  const answer: unknown = response.status === 204 ? null : await response.json().catch(() => null);
  if (!response.ok) throw problemOf(answer, response);
  return answer as T;
}
