import type { Schemas } from "@/api/client";
import type { LogLine } from "@/shared/components/LogList.vue";

/** Return a stored line as the list shows it. */
export function lineOf(line: Schemas["LogView"]): LogLine {
  const facts = [
    ["run", line.run_id],
    ["host", line.host],
    ["q", line.url],
  ] as const;
  return {
    id: line.id,
    at: line.at,
    level: line.level,
    text: `${line.event}  ${line.text}`,
    facts: facts.flatMap(([name, value]) => (value ? [{ name, value }] : [])),
  };
}
