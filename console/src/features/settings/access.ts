/** Roles, the rights of tokens and how long they are valid. */
import type { Schemas } from "@/api/client";

export type Role = Schemas["UserView"]["role"];
export type Scope = NonNullable<Schemas["TokenBody"]["scopes"]>[number];
export const ROLES: readonly Role[] = ["viewer", "operator", "admin", "worker", "uploader"];

/** The roles that a caller may give to a token: no role with more rights than the own one. */
export function rolesFor(own: string | undefined): readonly Role[] {
  const known: Record<string, readonly Role[]> = { admin: ROLES, operator: ["viewer", "operator", "worker", "uploader"] };
  return known[own ?? ""] ?? [];
}

const DAY_S = 86_400;
export const LIVES = { day: DAY_S, month: 30 * DAY_S, quarter: 90 * DAY_S, year: 365 * DAY_S, ever: null } as const;
export type Life = keyof typeof LIVES;

/** The state of a token at a moment. */
export function tokenState(token: { expires_at: string | null; revoked_at: string | null }, now: number): "valid" | "expired" | "revoked" {
  if (token.revoked_at) return "revoked";
  return token.expires_at && Date.parse(token.expires_at) <= now ? "expired" : "valid";
}
