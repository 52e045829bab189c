import { computed, type WritableComputedRef } from "vue";
import { useRoute, useRouter, type LocationQuery, type LocationQueryRaw } from "vue-router";

/** The query that is on its way: several values may change before the address does. */
let pending: LocationQuery | LocationQueryRaw | null = null;

/** A value that lives in the query of the address, so that it survives a reload and can be shared. */
export function useQueryParam(name: string, otherwise = ""): WritableComputedRef<string> {
  const route = useRoute();
  const router = useRouter();
  return computed({
    get: () => {
      const found = route.query[name];
      return (Array.isArray(found) ? found[0] : found) ?? otherwise;
    },
    set: (value) => {
      const query: LocationQueryRaw = { ...(pending ?? route.query) };
      if (value === otherwise) delete query[name];
      else query[name] = value;
      pending = query;
      void router.replace({ query, hash: route.hash }).finally(() => {
        if (pending === query) pending = null;
      });
    },
  });
}
