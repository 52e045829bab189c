/** Texts that are not saved, kept in the tab: they survive a reload. */

export interface Draft {
  text: string;
  /** The version that was changed; 0 for a new task. */
  version: number;
  at: number;
}

export const NEW = "new";
const kept = new Map<string, Draft>();
const nameOf = (id: string) => `smartspider.task.${id}`;

export function keepDraft(id: string, text: string, version: number): void {
  const draft = { text, version, at: Date.now() };
  kept.set(id, draft);
  try {
    sessionStorage.setItem(nameOf(id), JSON.stringify(draft));
  } catch {
    // storage is off or full: the draft lasts as long as the page
  }
}

export function readDraft(id: string): Draft | null {
  const own = kept.get(id);
  if (own) return own;
  try {
    const stored = JSON.parse(sessionStorage.getItem(nameOf(id)) ?? "null") as Partial<Draft> | null;
    const isDraft = typeof stored?.text === "string" && typeof stored.version === "number" && typeof stored.at === "number";
    return isDraft ? (stored as Draft) : null;
  } catch {
    return null;
  }
}

export function dropDraft(id: string): void {
  kept.delete(id);
  try {
    sessionStorage.removeItem(nameOf(id));
  } catch {
    // storage is off
  }
}
