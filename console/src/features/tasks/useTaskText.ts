import { computed, onScopeDispose, ref, watch } from "vue";
import type { Schemas } from "@/api/client";
import { dropDraft, keepDraft, NEW, readDraft, type Draft } from "./drafts";
import { EMPTY_TASK, textOf } from "./spec";

type Task = Schemas["TaskView"];
const KEEP_AFTER_MS = 250;

/** The text of a task in an editor, against the version it began with; what is not saved is kept as a draft. */
export function useTaskText(task: () => Task | null, initial: string) {
  const id = task()?.id ?? NEW;
  const base = ref({ version: task()?.version ?? 0, text: task() ? textOf(task()!.spec) : EMPTY_TASK });
  const text = ref(task() ? base.value.text : initial);
  const isDirty = computed(() => text.value !== base.value.text);
  const found = readDraft(id);
  const offered = ref<Draft | null>(id !== NEW && found && found.text !== base.value.text ? found : null);
  let timer: ReturnType<typeof setTimeout> | undefined;

  function keep(): void {
    clearTimeout(timer);
    if (isDirty.value) keepDraft(id, text.value, base.value.version);
    else if (!offered.value) dropDraft(id);
  }

  /** The text is saved as this version. */
  function settle(version: number, saved: string): void {
    base.value = { version, text: saved };
    keep();
  }

  /** Begin anew with a version of the server. */
  function take(version: Task): void {
    base.value = { version: version.version, text: textOf(version.spec) };
    text.value = base.value.text;
    keep();
  }

  function restore(): void {
    if (!offered.value) return;
    // The version stays that of the draft, so that a newer one is seen as a conflict.
    base.value = { ...base.value, version: offered.value.version };
    text.value = offered.value.text;
    offered.value = null;
  }

  function discard(): void {
    offered.value = null;
    dropDraft(id);
  }

  watch(text, () => {
    clearTimeout(timer);
    timer = setTimeout(keep, KEEP_AFTER_MS);
  });
  watch(
    () => task()?.version,
    () => {
      const newest = task();
      if (newest && newest.version > base.value.version && !isDirty.value) take(newest);
    },
  );
  addEventListener("pagehide", keep);
  onScopeDispose(() => {
    removeEventListener("pagehide", keep);
    keep();
  });
  return { text, base, isDirty, offered, settle, take, restore, discard };
}
