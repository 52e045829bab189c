/** Theme and language, remembered in this browser. */
import { reactive, watchEffect } from "vue";
import type { Locale } from "@/shared/feature";

export type Theme = "system" | "light" | "dark";
export const THEMES: readonly Theme[] = ["system", "light", "dark"];
export const LOCALES: readonly Locale[] = ["en", "zh-CN"];

function read<T extends string>(name: string, known: readonly T[], otherwise: T): T {
  try {
    const stored = localStorage.getItem(`smartspider.${name}`) as T | null;
    return stored !== null && known.includes(stored) ? stored : otherwise;
  } catch {
    return otherwise; // storage is switched off
  }
}

function write(name: string, value: string): void {
  try {
    localStorage.setItem(`smartspider.${name}`, value);
  } catch {
    // storage is switched off: the choice lasts as long as the page
  }
}

export const preferences = reactive({
  theme: read("theme", THEMES, "system"),
  locale: read("locale", LOCALES, navigator.language.toLowerCase().startsWith("zh") ? "zh-CN" : "en"),
});

/** Keep the document and the storage in step with the preferences. */
export function applyPreferences(): void {
  watchEffect(() => {
    const root = document.documentElement;
    if (preferences.theme === "system") delete root.dataset.theme;
    else root.dataset.theme = preferences.theme;
    root.lang = preferences.locale;
    write("theme", preferences.theme);
    write("locale", preferences.locale);
  });
}
