/** All features of this build, collected from their folders. */
import type { Feature } from "@/shared/feature";

const modules = import.meta.glob<{ default: Feature }>("../features/*/index.ts", { eager: true });

export const features: Feature[] = Object.keys(modules)
  .sort()
  .map((path) => modules[path]!.default);
