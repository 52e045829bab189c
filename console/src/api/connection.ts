/** The state of the connection to the server, as the pill in the header shows it. */
import { reactive, readonly } from "vue";

export type ConnectionState = "live" | "reconnecting" | "stale";
const STALE_AFTER_MS = 10_000;

const state = reactive({ state: "live" as ConnectionState, since: 0 });
let failingSince: number | null = null;

export const connection = readonly(state);

/** Tell that the server was heard. An answer to what was asked before the connection was lost says nothing of it. */
export function reportHeard(askedAt = Date.now()): void {
  if (failingSince !== null && askedAt < failingSince) return;
  failingSince = null;
  state.state = "live";
  state.since = Date.now();
}

/** Tell that the server could not be reached. What is shown is stale after ten seconds. */
export function reportLost(): void {
  failingSince ??= Date.now();
  state.state = Date.now() - failingSince >= STALE_AFTER_MS ? "stale" : "reconnecting";
}
