/** Problem documents (RFC 9457) of the API as errors. */

export interface FieldError {
  path: string;
  message: string;
  hint: string | null;
}

export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly hint: string | null = null,
    readonly errors: readonly FieldError[] = [],
    readonly correlation: string | null = null,
  ) {
    super(detail);
    this.name = "Problem";
  }

  /** True where the same call may succeed a moment later. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** The problem of a request that reached no server. */
export function unreachable(): Problem {
  return new Problem(0, "unreachable", "the server does not answer", null);
}

/** What is wrong with a field of a form, if that is what the error is about. */
export function errorAt(error: unknown, field: string): string | undefined {
  if (!(error instanceof Problem)) return undefined;
  return error.errors.find(({ path }) => path === field || path.startsWith(`${field}[`))?.message;
}

/** Return the problem that a response holds. */
export function problemOf(body: unknown, response: Response): Problem {
  const sent = (body ?? {}) as Record<string, unknown>;
  const text = (name: string) => (typeof sent[name] === "string" ? (sent[name] as string) : null);
  return new Problem(
    response.status,
    text("code") ?? "unknown",
    text("detail") ?? text("title") ?? response.statusText,
    text("hint"),
    Array.isArray(sent.errors) ? (sent.errors as FieldError[]) : [],
    text("correlation_id") || null,
  );
}

/** Return an error of any kind as a problem. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(0, "unexpected", error instanceof Error ? error.message : String(error));
}
