import type { Messages } from "@/shared/feature";

/** Return the texts of the shell and of all features, each under the name of its folder. */
export function gather(shell: Messages, features: Record<string, Messages>): Messages {
  const found = Object.entries(features).map(([path, texts]) => [path.split("/").at(-3)!, texts] as const);
  return { ...shell, ...Object.fromEntries(found) };
}
