import { readonly, ref, type Ref } from "vue";
import { connection } from "@/api/connection";

const now = ref(Date.now());

setInterval(() => {
  // A clock over values that are stale would pretend that something runs.
  if (connection.state === "live") now.value = Date.now();
}, 1000);

/** The time, once a second; it stops while the connection is lost. */
export function useNow(): Readonly<Ref<number>> {
  return readonly(now);
}
