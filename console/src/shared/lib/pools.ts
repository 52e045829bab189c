import { useQuery } from "@tanstack/vue-query";
import { computed, type ComputedRef } from "vue";
import { api, body } from "@/api/client";
import { can } from "@/api/session";

const MOST_PROXIES = 1000;

/** The names of the pools of the first proxies; empty for whoever may not list proxies. */
export function usePools(): ComputedRef<string[]> {
  const found = useQuery({
    queryKey: ["proxies", "pools"],
    queryFn: ({ signal }) => body(api.GET("/api/proxies", { params: { query: { limit: MOST_PROXIES } }, signal })),
    enabled: can("proxies:read"),
  });
  return computed(() => [...new Set((found.data.value?.items ?? []).map((one) => one.pool))].sort());
}
