import { QueryClient } from "@tanstack/vue-query";
import { Problem } from "@/api/problem";

const RETRIED = 2;

/** Reads are tried again where trying can help; a refusal is shown at once. */
export function createQueries(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 2_000,
        networkMode: "always",
        retry: (count, error) => count < RETRIED && (!(error instanceof Problem) || error.isPassing),
      },
      mutations: { networkMode: "always" },
    },
  });
}
