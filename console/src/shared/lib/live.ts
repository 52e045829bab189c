import { onScopeDispose, toValue, watch, type MaybeRefOrGetter } from "vue";
import { watchTopic } from "@/api/live";

/** Watch a topic of the live connection as long as the calling component lives; other parameters begin anew. */
export function useLive(topic: string, params: MaybeRefOrGetter<Record<string, unknown>>, handle: (data: unknown) => void): void {
  let stop = () => {};
  watch(
    () => JSON.stringify(toValue(params)),
    () => {
      stop();
      stop = watchTopic(topic, toValue(params), handle);
    },
    { immediate: true },
  );
  onScopeDispose(() => stop());
}

/**
 * Keeps answers from hiding what the live connection told after they were asked for: a counter would go back.
 * `key` names the subject; what was told of another one is forgotten.
 */
export function useNewest<T extends object>(key: MaybeRefOrGetter<string> = "") {
  let heard: { key: string; data: Partial<T> } | null = null;
  return {
    hear(data: Partial<T>): void {
      heard = { key: toValue(key), data };
    },
    async over(answer: Promise<T>): Promise<T> {
      const before = heard;
      const read = await answer;
      return heard !== null && heard !== before && heard.key === toValue(key) ? { ...read, ...heard.data } : read;
    },
  };
}
