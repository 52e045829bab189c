/** The series of runs as the chart draws them. */
import type { Schemas } from "@/api/client";
import type { OutcomePoint } from "@/shared/components/OutcomeChart.vue";

/** Return the periods of a series by outcome; each stands at its beginning. */
export function outcomePoints(points: readonly Schemas["SeriesPoint"][]): OutcomePoint[] {
  return points.map((point) => ({
    at: Date.parse(point.at) - point.seconds * 1000,
    ok: point.success,
    missing: point.missing,
    retry: point.retries,
    blocked: 0,
    failed: point.failed,
  }));
}
