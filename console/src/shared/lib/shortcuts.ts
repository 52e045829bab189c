/** Keyboard shortcuts: single keys, `Ctrl+K`, and sequences such as `g r`. */
import { onScopeDispose } from "vue";

type Action = (event: KeyboardEvent) => void;
const SEQUENCE_MS = 1200;
const bound = new Map<string, Action[]>();
let first = "";
let firstAt = 0;

function keyName(event: KeyboardEvent): string {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return event.ctrlKey || event.metaKey ? `Ctrl+${key.toUpperCase()}` : key;
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

function isBehindDialog(): boolean {
  return document.querySelector("[role=dialog][data-state=open], [role=alertdialog][data-state=open]") !== null;
}

document.addEventListener("keydown", (event) => {
  const key = keyName(event);
  const isChord = key.startsWith("Ctrl+");
  if (event.defaultPrevented || event.altKey || event.isComposing) return;
  if (!isChord && (isTyping(event.target) || isBehindDialog())) return;
  const pair = first && event.timeStamp - firstAt < SEQUENCE_MS ? `${first} ${key}` : "";
  const action = bound.get(pair)?.at(-1) ?? bound.get(key)?.at(-1);
  first = key;
  firstAt = event.timeStamp;
  if (!action) return;
  first = "";
  event.preventDefault();
  action(event);
});

/** Bind a key as long as the calling component lives; the newest binding of a key counts. */
export function useShortcut(key: string, action: Action): void {
  const actions = bound.get(key) ?? [];
  actions.push(action);
  bound.set(key, actions);
  onScopeDispose(() => {
    actions.splice(actions.indexOf(action), 1);
  });
}
