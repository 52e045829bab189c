import { computed, type WritableComputedRef } from "vue";
import { useRoute, useRouter, type LocationQuery, type LocationQueryRaw } from "vue-router";

/** The query that is on its way: several values may change before the address does. */
let pending: LocationQuery | LocationQueryRaw | null = null;

/** Return a function that sets a value of the query, or removes it; the others stay. */
function useQueryChange(name: string): (value: string | string[] | undefined) => void {
  const route = useRoute();
  const router = useRouter();
  return (value) => {
    const query: LocationQueryRaw = { ...(pending ?? route.query) };
    if (value === undefined) delete query[name];
    else query[name] = value;
    pending = query;
    void router.replace({ query, hash: route.hash }).finally(() => {
      if (pending === query) pending = null;
    });
  };
}

/** A value that lives in the query of the address, so that it survives a reload and can be shared. */
export function useQueryParam(name: string, otherwise = ""): WritableComputedRef<string> {
  const route = useRoute();
  const change = useQueryChange(name);
  return computed({
    get: () => {
      const found = route.query[name];
      return (Array.isArray(found) ? found[0] : found) ?? otherwise;
    },
    set: (value) => change(value === otherwise ? undefined : value),
  });
}

/** Values that live in the query of the address under one name. */
export function useQueryList(name: string): WritableComputedRef<string[]> {
  const route = useRoute();
  const change = useQueryChange(name);
  return computed({
    get: () => [route.query[name] ?? []].flat().filter((value) => value !== null),
    set: (values) => change(values.length ? values : undefined),
  });
}
