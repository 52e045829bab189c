/** Values of rows as texts. */

const MOST_CHARS = 300;

/** Return a value as one readable line: lists as `a, b`, objects as `name: value`, nothing as a dash. */
export function readable(value: unknown): string {
  const text = inline(value);
  return text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS)}…` : text;
}

function inline(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) return value.length ? value.map(nested).join(", ") : "[]";
  const entries = Object.entries(value);
  return entries.length ? entries.map(([name, one]) => `${name}: ${nested(one)}`).join(", ") : "{}";
}

/** Only the outer level is written without brackets. */
function nested(value: unknown): string {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : inline(value);
}
