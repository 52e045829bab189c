import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

type Answer = [status: number, body: unknown];
const ME = { name: "ann", role: "operator", scopes: [], may: ["runs:read"], kind: "user" };
const ABOUT = { version: "1", capabilities: ["runs"] };
let asked: string[];
let answers: Record<string, () => Answer>;

function serve(method: string, url: string): Response {
  const path = new URL(url, "http://console.test").pathname;
  asked.push(`${method} ${path}`);
  const [status, body] = answers[`${method} ${path}`]?.() ?? [404, { code: "not_found", detail: "no" }];
  return new Response(status === 204 ? null : JSON.stringify(body), { status });
}

beforeEach(() => {
  vi.resetModules();
  asked = [];
  let number = 0;
  answers = {
    "POST /api/auth/session/renew": () => [200, { access_token: `t${++number}`, expires_in: 900 }],
    "POST /api/auth/session": () => [200, { access_token: "t", expires_in: 900 }],
    "DELETE /api/auth/session": () => [204, null],
    "GET /api/auth/me": () => [200, ME],
    "GET /api/about": () => [200, ABOUT],
    "GET /api/runs": () => [200, { items: [], next: null }],
  };
  vi.stubGlobal("fetch", async (input: Request | string, init?: RequestInit) =>
    typeof input === "string" ? serve(init?.method ?? "GET", input) : serve(input.method, input.url),
  );
});

afterEach(() => {
  vi.unstubAllGlobals();
  history.replaceState(null, "", "/");
});

const count = (call: string) => asked.filter((one) => one === call).length;

describe("the session", () => {
  it("continues by the cookie", async () => {
    const { session, startSession, can } = await import("@/api/session");
    await startSession();
    expect(session.state).toBe("in");
    expect(session.about).toEqual(ABOUT);
    expect([can("runs:read"), can("runs:write"), can(undefined)]).toEqual([true, false, true]);
  });

  it("starts by the link of the fragment, which leaves the address at once", async () => {
    const { startSession } = await import("@/api/session");
    history.replaceState(null, "", "/sign-in#link=ssl_abc");
    const started = startSession();
    expect(location.hash).toBe("");
    await started;
    expect(count("POST /api/auth/session")).toBe(1);
    expect(count("POST /api/auth/session/renew")).toBe(0);
  });

  it("says that a link was used, and still tries the cookie", async () => {
    answers["POST /api/auth/session"] = () => [401, { code: "not_signed_in", detail: "used" }];
    answers["POST /api/auth/session/renew"] = () => [401, { code: "not_signed_in", detail: "none" }];
    const { session, startSession } = await import("@/api/session");
    history.replaceState(null, "", "/sign-in#link=ssl_abc");
    await startSession();
    expect([session.state, session.problem?.code]).toEqual(["out", "not_signed_in"]);
  });

  it("is renewed once for calls at the same time", async () => {
    const { accessToken } = await import("@/api/session");
    expect(await Promise.all([accessToken(), accessToken(), accessToken()])).toEqual(["t1", "t1", "t1"]);
    expect(count("POST /api/auth/session/renew")).toBe(1);
  });

  it("is renewed when a call is refused, and the call is repeated", async () => {
    let refusals = 1;
    answers["GET /api/runs"] = () => (refusals-- > 0 ? [401, { code: "not_signed_in", detail: "over" }] : [200, { items: [] }]);
    const { api, body } = await import("@/api/client");
    expect(await body(api.GET("/api/runs"))).toEqual({ items: [] });
    expect([count("GET /api/runs"), count("POST /api/auth/session/renew")]).toEqual([2, 2]);
  });

  it("keeps the caller when it ends elsewhere, and forgets it when it is ended here", async () => {
    const { session, renew, signOut, startSession } = await import("@/api/session");
    await startSession();
    const good = answers["POST /api/auth/session/renew"]!;
    answers["POST /api/auth/session/renew"] = () => [401, { code: "not_signed_in", detail: "over" }];
    await renew();
    expect([session.state, session.me?.name]).toEqual(["out", "ann"]);
    answers["POST /api/auth/session/renew"] = good;
    await signOut();
    expect([session.state, session.me]).toEqual(["out", null]);
  });

  it("lasts while the server does not answer", async () => {
    const { session, startSession, accessToken } = await import("@/api/session");
    await startSession();
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("refused")));
    const { api } = await import("@/api/client");
    await expect(api.GET("/api/runs")).rejects.toMatchObject({ code: "unreachable", isPassing: true });
    expect(session.state).toBe("in");
    expect(await accessToken()).toBe("t1");
  });
});

describe("problems", () => {
  it("are thrown with what the server says", async () => {
    answers["GET /api/runs"] = () => [422, { code: "request_invalid", detail: "no", hint: "do", errors: [{ path: "a", message: "b", hint: null }] }];
    const { api } = await import("@/api/client");
    await expect(api.GET("/api/runs")).rejects.toMatchObject({ status: 422, code: "request_invalid", hint: "do", isPassing: false });
  });
});
