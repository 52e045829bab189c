/** Task files as texts. */
import type { Schemas } from "@/api/client";

export type TaskBody = Schemas["Task"];
export type Json = { [key: string]: unknown };

export function textOf(spec: unknown): string {
  return JSON.stringify(spec, null, 2) ?? "";
}

/** Return the object that a text holds, or null. */
export function objectOf(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : null;
  } catch {
    return null;
  }
}

/** Send a text as it is written: what a parse would lose, such as digits or doubled keys, the server sees. */
export function sentAs(text: string): { body: TaskBody; bodySerializer: () => string } {
  return { body: {} as TaskBody, bodySerializer: () => text };
}

export function valueAt(task: Json, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => (typeof at === "object" && at !== null ? (at as Json)[key] : undefined), task);
}

/** Return a task with another value at a path; `undefined` removes the key, and the objects that are empty then. */
export function withValue(task: Json, path: readonly string[], value: unknown): Json {
  const [key, ...rest] = path as [string, ...string[]];
  const below = task[key];
  const next = rest.length === 0 ? value : withValue(typeof below === "object" && below !== null ? (below as Json) : {}, rest, value);
  const changed = { ...task, [key]: next };
  const isEmpty = next === undefined || (rest.length > 0 && Object.keys(next as Json).length === 0);
  if (isEmpty) delete changed[key];
  return changed;
}

export const EMPTY_TASK = textOf({ name: "", entry_urls: ["https://"], selectors: { items: "", fields: {} } });

/** Return a name that no task has, from one that is wished. */
export function freeName(wished: string, taken: readonly string[]): string {
  if (!taken.includes(wished)) return wished;
  for (let number = 2; ; number++) if (!taken.includes(`${wished}-${number}`)) return `${wished}-${number}`;
}
