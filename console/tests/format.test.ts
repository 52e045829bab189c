import { beforeEach, describe, expect, it } from "vitest";
import { formatDuration, formatNumber, formatRelative } from "@/shared/lib/format";
import { preferences } from "@/shared/lib/preferences";
import { stack } from "@/shared/lib/outcomePlot";

beforeEach(() => {
  preferences.locale = "en";
});

describe("format", () => {
  it("shows durations in their two largest units", () => {
    const shown = [0.42, 12, 184, 7500, 90_000].map(formatDuration);
    expect(shown).toEqual(["0.4 s", "12 s", "3 m 04 s", "2 h 05 m", "1 d 01 h"]);
    expect(formatDuration(NaN)).toBe("–");
  });

  it("never rounds up to a unit that does not exist", () => {
    expect([59.6, 3599.7].map(formatDuration)).toEqual(["1 m 00 s", "1 h 00 m"]);
  });

  it("shows moments relative to now in the language of the console", () => {
    const now = Date.parse("2026-01-02T12:00:00Z");
    expect(formatRelative(now - 180_000, now)).toBe("3 min. ago");
    preferences.locale = "zh-CN";
    expect(formatRelative(now - 180_000, now)).toContain("3");
    expect(formatNumber(12_345)).toBe("12,345");
  });
});

describe("stacked outcomes", () => {
  it("are sums whose first column holds everything", () => {
    const point = { at: 0, ok: 5, missing: 1, retry: 2, blocked: 0, failed: 3 };
    expect(stack([point]).map((column) => column[0])).toEqual([11, 8, 8, 6, 5]);
  });
});
