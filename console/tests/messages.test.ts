import { describe, expect, it } from "vitest";
import { features } from "@/app/features";
import { loadTexts } from "@/app/i18n";
import { icons } from "@/shared/icons";
import type { Messages } from "@/shared/feature";

const texts = { en: await loadTexts("en"), "zh-CN": await loadTexts("zh-CN") };

function keys(messages: Messages, prefix = ""): string[] {
  return Object.entries(messages).flatMap(([name, value]) =>
    typeof value === "string" ? [`${prefix}${name}`] : keys(value, `${prefix}${name}.`),
  );
}

function placeholders(messages: Messages, key: string): string[] {
  const text = key.split(".").reduce<string | Messages>((found, name) => (found as Messages)[name]!, messages) as string;
  return [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!).sort();
}

describe("texts", () => {
  it("are the same keys in both languages", () => {
    expect(keys(texts["zh-CN"]).sort()).toEqual(keys(texts.en).sort());
  });

  it("take the same values in both languages", () => {
    for (const key of keys(texts.en)) expect(placeholders(texts["zh-CN"], key), key).toEqual(placeholders(texts.en, key));
  });
});

describe("features", () => {
  it("are named like their folders, and so are their routes", () => {
    expect(features.length).toBeGreaterThan(0);
    for (const feature of features) {
      for (const route of feature.routes ?? []) expect(String(route.name).split(".")[0]).toBe(feature.id);
      if (feature.menu) expect(Object.keys(icons)).toContain(feature.menu.icon);
    }
  });

  it("have texts for their menu entries and commands", () => {
    const known = new Set(keys(texts.en));
    for (const feature of features) {
      if (feature.menu) expect(known).toContain(`${feature.id}.${feature.menu.label}`);
      for (const command of feature.commands ?? []) expect(known).toContain(`${feature.id}.${command.label}`);
    }
  });

  it("use each key after g once", () => {
    const used = features.flatMap((feature) => feature.menu?.key ?? []);
    expect(new Set(used).size).toBe(used.length);
  });
});
