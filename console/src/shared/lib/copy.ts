/** Return a text as one word of a command line. */
export function shellWord(text: string): string {
  return /^[\w.:@/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Copy a text. Without a secure context there is no clipboard API, so a selection is copied instead. */
export async function copyText(text: string): Promise<boolean> {
  if (window.isSecureContext && navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // not allowed: the other way may be
    }
  }
  const field = document.createElement("textarea");
  field.value = text;
  field.readOnly = true;
  field.className = "hidden-text";
  // Inside an open dialog, which keeps the focus to itself.
  const host = document.activeElement?.closest("[role=dialog]") ?? document.body;
  const focused = document.activeElement as HTMLElement | null;
  host.append(field);
  field.focus({ preventScroll: true });
  field.select();
  try {
    return document.execCommand("copy");
  } finally {
    field.remove();
    focused?.focus();
  }
}
