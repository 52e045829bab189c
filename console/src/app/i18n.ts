import { createI18n } from "vue-i18n";
import en from "@/app/messages/en";
import zh from "@/app/messages/zh-CN";
import { preferences } from "@/shared/lib/preferences";
import type { Feature, Locale, Messages } from "@/shared/feature";

/** Return the texts of the shell and of all features, each under the name of its folder. */
export function collectMessages(features: Feature[]): Record<Locale, Messages> {
  const all: Record<Locale, Messages> = { en: { ...en }, "zh-CN": { ...zh } };
  for (const feature of features) {
    for (const locale of ["en", "zh-CN"] as const) all[locale][feature.id] = feature.messages[locale];
  }
  return all;
}

export function createMessages(features: Feature[]) {
  return createI18n({
    legacy: false,
    locale: preferences.locale,
    fallbackLocale: "en",
    messages: collectMessages(features) as never,
    missingWarn: import.meta.env.DEV,
    fallbackWarn: import.meta.env.DEV,
  });
}
