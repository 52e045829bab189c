/** Numbers, moments and durations as texts, in the chosen language. */
import { preferences } from "@/shared/lib/preferences";

const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
];

export function formatNumber(value: number, digits = 0): string {
  return value.toLocaleString(preferences.locale, { maximumFractionDigits: digits });
}

export function formatPercent(share: number): string {
  return share.toLocaleString(preferences.locale, { style: "percent", maximumFractionDigits: 1 });
}

export function formatBytes(bytes: number): string {
  const step = bytes >= 1e9 ? 1e9 : bytes >= 1e6 ? 1e6 : bytes >= 1e3 ? 1e3 : 1;
  const unit = step === 1e9 ? "gigabyte" : step === 1e6 ? "megabyte" : step === 1e3 ? "kilobyte" : "byte";
  const options = { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: step === 1 ? 0 : 1 } as const;
  return (bytes / step).toLocaleString(preferences.locale, options);
}

/** `2 h 05 m`, `3 m 04 s`, `12 s`, `0.4 s`. */
export function formatDuration(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return "–";
  if (seconds < 10) return `${formatNumber(Math.round(seconds * 10) / 10, 1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const [d, h, m, s] = [Math.floor(whole / 86_400), Math.floor((whole % 86_400) / 3_600), Math.floor((whole % 3_600) / 60), whole % 60];
  const two = (value: number) => String(value).padStart(2, "0");
  if (d > 0) return `${formatNumber(d)} d ${two(h)} h`;
  return h > 0 ? `${h} h ${two(m)} m` : `${m} m ${two(s)} s`;
}

/** `3 minutes ago`, in the language of the console. */
export function formatRelative(at: number, now: number): string {
  const seconds = Math.round((at - now) / 1000);
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
  const format = new Intl.RelativeTimeFormat(preferences.locale, { numeric: "auto", style: "short" });
  return format.format(Math.trunc(seconds / size), unit);
}

/** The exact moment in the zone of the browser. */
export function formatMoment(at: number): string {
  return new Date(at).toLocaleString(preferences.locale, { dateStyle: "medium", timeStyle: "medium" });
}
