import { watch } from "vue";
import { createI18n } from "vue-i18n";
import { preferences } from "@/shared/lib/preferences";
import type { Locale, Messages } from "@/shared/feature";

const TEXTS: Record<Locale, () => Promise<{ default: Messages }>> = {
  en: () => import("@/app/locales/en"),
  "zh-CN": () => import("@/app/locales/zh-CN"),
};

/** Load all texts of a language. */
export async function loadTexts(locale: Locale): Promise<Messages> {
  return (await TEXTS[locale]()).default;
}

/** The texts of the chosen language. Those of another one are loaded when it is chosen. */
export async function createMessages() {
  const { locale } = preferences;
  const i18n = createI18n({
    legacy: false,
    locale: locale as string,
    messages: { [locale]: await loadTexts(locale) } as never,
    missingWarn: import.meta.env.DEV,
  });
  const { setLocaleMessage, locale: shown } = i18n.global;
  watch(
    () => preferences.locale,
    async (chosen) => {
      try {
        setLocaleMessage(chosen, (await loadTexts(chosen)) as never);
        if (preferences.locale === chosen) shown.value = chosen;
      } catch {
        preferences.locale = shown.value as Locale; // the server cannot be reached
      }
    },
  );
  return i18n;
}
