/** What a filter and a subject of the audit log stand for elsewhere. */
import { shellWord } from "@/shared/lib/copy";

export const PERIODS = { "1h": 3_600_000, "24h": 86_400_000, "7d": 604_800_000, "30d": 2_592_000_000 } as const;
export type Since = "" | keyof typeof PERIODS;

export interface AuditFilter {
  actor: string;
  action: string;
  subject: string;
  since: Since;
}

/** Return the filter as the API takes it, at a moment. */
export function queryOf(filter: AuditFilter, now: number) {
  return {
    ...(filter.actor ? { actor: filter.actor } : {}),
    ...(filter.action ? { action: filter.action } : {}),
    ...(filter.subject ? { subject: filter.subject } : {}),
    ...(Object.hasOwn(PERIODS, filter.since) ? { since: new Date(now - PERIODS[filter.since as keyof typeof PERIODS]).toISOString() } : {}),
  };
}

/** Return the command that lists the same entries. */
export function commandOf(filter: AuditFilter): string {
  const options = (["subject", "action", "actor", "since"] as const).flatMap((name) => (filter[name] ? [`--${name} ${shellWord(filter[name])}`] : []));
  return ["smartspider audit list", ...options, "--limit 1000"].join(" ");
}

/** Return the page of what an entry is about, if there is one. */
export function pageOf(subject: string): string | null {
  const [, noun, id] = /^(task|run|schedule|notification):(\d+)$/.exec(subject) ?? [];
  switch (noun) {
    case "task":
    case "run":
      return `/${noun}s/${id}`;
    case "schedule":
      return `/schedules?schedule=${id}`;
    case "notification":
      return `/notifications?target=${id}`;
    default:
      return null;
  }
}
