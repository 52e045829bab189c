/** When a schedule starts its task, as a sentence. */
import cronstrue from "cronstrue";
import "cronstrue/locales/zh_CN";
import { formatDuration, formatMoment } from "@/shared/lib/format";
import { preferences } from "@/shared/lib/preferences";

export interface Rule {
  cron: string | null;
  every_s: number | null;
  at: string | null;
}

type Translate = (key: string, values: Record<string, unknown>) => string;

/** Return a cron expression as a sentence in the chosen language; the expression itself if it has none. */
export function cronSentence(cron: string): string {
  try {
    return cronstrue.toString(cron, { locale: preferences.locale === "zh-CN" ? "zh_CN" : "en", use24HourTimeFormat: true });
  } catch {
    return cron;
  }
}

export function ruleSentence(rule: Rule, t: Translate): string {
  if (rule.cron) return cronSentence(rule.cron);
  if (rule.every_s !== null) return t("schedules.every", { time: formatDuration(rule.every_s) });
  return t("schedules.once", { time: rule.at ? formatMoment(Date.parse(rule.at)) : "–" });
}
