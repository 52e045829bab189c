import { reactive } from "vue";

export interface ToastMessage {
  id: number;
  text: string;
  kind: "ok" | "bad";
  action?: { label: string; run: () => void };
}

let next = 1;
export const toasts = reactive<ToastMessage[]>([]);

/** Show a message at the edge of the page, with an action such as undo. */
export function toast(text: string, kind: ToastMessage["kind"] = "ok", action?: ToastMessage["action"]): void {
  toasts.push({ id: next++, text, kind, ...(action ? { action } : {}) });
}

export function dismiss(id: number): void {
  const place = toasts.findIndex((one) => one.id === id);
  if (place >= 0) toasts.splice(place, 1);
}
