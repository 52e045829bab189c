/** The typed client of the REST API: `api.GET("/api/runs", ...)`. Calls throw a `Problem` when they fail. */
import createClient, { type Middleware } from "openapi-fetch";
import { reportHeard, reportLost } from "@/api/connection";
import { problemOf, unreachable } from "@/api/problem";
import type { components, paths } from "@/api/schema";
import { accessToken, renew } from "@/api/session";

export type Schemas = components["schemas"];

async function send(request: Request): Promise<Response> {
  const again = request.clone();
  request.headers.set("Authorization", `Bearer ${await accessToken()}`);
  const response = await reach(request);
  if (response.status !== 401 || !(await renew())) return response;
  again.headers.set("Authorization", `Bearer ${await accessToken()}`);
  return reach(again);
}

async function reach(request: Request): Promise<Response> {
  const askedAt = Date.now();
  try {
    const response = await fetch(request);
    reportHeard(askedAt);
    return response;
  } catch (error) {
    if (request.signal.aborted) throw error;
    reportLost();
    throw unreachable();
  }
}

const problems: Middleware = {
  async onResponse({ response }) {
    if (!response.ok) throw problemOf(await response.json().catch(() => null), response);
  },
};

export const api = createClient<paths>({ baseUrl: location.origin, fetch: send });
api.use(problems);

/** Return the body of a successful call. */
export async function body<T>(call: Promise<{ data?: T }>): Promise<T> {
  return (await call).data as T;
}
