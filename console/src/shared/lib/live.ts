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
