/** What features add to screens of other features. The shell provides them; a screen asks for a kind. */
import { computed, defineAsyncComponent, inject, type Component, type ComputedRef, type InjectionKey } from "vue";
import { can } from "@/api/session";
import type { Feature, LiveTopic, Part } from "@/shared/feature";

export const FEATURES: InjectionKey<ComputedRef<readonly Feature[]>> = Symbol("features");

export interface ReadyPart {
  id: string;
  /** Key of the text, complete. */
  label: string;
  component: Component;
}

const components = new Map<() => unknown, Component>();

function ready(load: Part["component"]): Component {
  const known = components.get(load) ?? defineAsyncComponent(load);
  components.set(load, known);
  return known;
}

/** The parts of a kind for this server and caller, in order. */
export function useParts(kind: "cards" | "firstSteps" | "runTabs" | "drawerSections"): ComputedRef<ReadyPart[]> {
  const features = inject(FEATURES);
  return computed(() =>
    (features?.value ?? [])
      .flatMap((feature) => (feature[kind] ?? []).map((part) => ({ ...part, id: `${feature.id}.${part.id}`, label: `${feature.id}.${part.label}` })))
      .filter((part) => can(part.scope))
      .sort((a, b) => a.order - b.order)
      .map(({ id, label, component }) => ({ id, label, component: ready(component) })),
  );
}

/** The components of entries of the attention list, by kind. */
export function useAttentionKinds(): ComputedRef<ReadonlyMap<string, Component>> {
  const features = inject(FEATURES);
  const kinds = () => (features?.value ?? []).flatMap((feature) => feature.attention ?? []);
  return computed(() => new Map(kinds().map(({ kind, component }) => [kind, ready(component)])));
}

/** The live topics that features listen to. */
export function useLiveTopics(): ComputedRef<readonly LiveTopic[]> {
  const features = inject(FEATURES);
  return computed(() => (features?.value ?? []).flatMap((feature) => feature.topics ?? []));
}
