import { computed, onScopeDispose, ref, shallowRef, watch, type Ref } from "vue";
import { useI18n } from "vue-i18n";
import { api, body } from "@/api/client";
import { asProblem } from "@/api/problem";
import type { TextProblem } from "@/shared/components/JsonEditor.vue";
import { lineOf, placeOf, readPlaces } from "@/shared/lib/jsonPlaces";
import { sentAs } from "./spec";

export interface TaskProblem extends TextProblem {
  path: string;
  hint: string;
  line: number;
}
interface Wrong {
  path: string;
  message: string;
  hint?: string | null;
}
interface Answer {
  errors: readonly Wrong[];
  warnings: readonly Wrong[];
}

const DELAY_MS = 600;

/** Check a task file while it is written: its JSON here, the rest on the server. */
export function useValidation(text: Ref<string>, isEnabled: Ref<boolean>) {
  const { t } = useI18n();
  const answer = shallowRef<Answer | null>(null);
  const failure = ref<unknown>(null);
  const isChecking = ref(false);
  const places = computed(() => readPlaces(text.value));
  let timer: ReturnType<typeof setTimeout> | undefined;
  let current: AbortController | undefined;

  async function check(): Promise<void> {
    const controller = (current = new AbortController());
    failure.value = null;
    try {
      const found = await body(api.POST("/api/tasks", { params: { query: { dry_run: true } }, ...sentAs(text.value), signal: controller.signal }));
      if (!controller.signal.aborted) answer.value = found as unknown as Answer;
    } catch (error) {
      if (controller.signal.aborted) return;
      const { errors } = asProblem(error);
      answer.value = errors.length ? { errors, warnings: [] } : null;
      if (!errors.length) failure.value = error;
    } finally {
      if (!controller.signal.aborted) isChecking.value = false;
    }
  }

  function stop(): void {
    clearTimeout(timer);
    current?.abort();
  }

  watch(
    [text, isEnabled],
    () => {
      stop();
      isChecking.value = isEnabled.value && places.value.error === null;
      if (places.value.error !== null) answer.value = null;
      if (isChecking.value) timer = setTimeout(() => void check(), DELAY_MS);
    },
    { immediate: true },
  );
  onScopeDispose(stop);

  function placed(wrong: Wrong, severity: "error" | "warning"): TaskProblem {
    const place = placeOf(places.value, wrong.path);
    return { ...place, severity, path: wrong.path, message: wrong.message, hint: wrong.hint ?? "", line: lineOf(text.value, place.from) };
  }

  const problems = computed<TaskProblem[]>(() => {
    const at = places.value.error;
    if (at !== null) {
      const from = Math.min(at, Math.max(0, text.value.length - 1));
      return [{ from, to: Math.min(at + 1, text.value.length), severity: "error", path: "", message: t("tasks.editor.syntax"), hint: "", line: lineOf(text.value, from) }];
    }
    const all = [...(answer.value?.errors ?? []).map((one) => placed(one, "error")), ...(answer.value?.warnings ?? []).map((one) => placed(one, "warning"))];
    return all.sort((a, b) => a.from - b.from);
  });
  const isValid = computed(() => !isChecking.value && answer.value !== null && answer.value.errors.length === 0 && places.value.error === null);
  return { problems, isChecking, isValid, failure };
}
