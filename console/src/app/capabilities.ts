import { computed } from "vue";
import { can, session } from "@/api/session";
import { features } from "@/app/features";
import type { Feature } from "@/shared/feature";

/** Return whether a server with these capabilities has a feature. */
export function isAvailable(feature: Feature, capabilities: readonly string[]): boolean {
  return feature.capability === undefined || capabilities.includes(feature.capability);
}

/** The features of this server. */
export const available = computed(() => features.filter((one) => isAvailable(one, session.about?.capabilities ?? [])));

/** The entries of rail, user menu and palette for this caller, in order. */
export const menu = computed(() =>
  available.value
    .flatMap((feature) => (feature.menu ? [{ ...feature.menu, label: `${feature.id}.${feature.menu.label}` }] : []))
    .filter((entry) => can(entry.scope))
    .sort((a, b) => a.order - b.order),
);

/** The commands for this caller, with the full keys of their texts. */
export const commands = computed(() =>
  available.value.flatMap((feature) =>
    (feature.commands ?? []).filter((one) => can(one.scope)).map((one) => ({ ...one, id: `${feature.id}.${one.id}`, label: `${feature.id}.${one.label}` })),
  ),
);
