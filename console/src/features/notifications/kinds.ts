import { useI18n } from "vue-i18n";

/** Return a function that names the kind of a target: a channel of a plug-in by the kind itself. */
export function useKindName(): (kind: string) => string {
  const { t, te } = useI18n();
  return (kind) => {
    const key = `notifications.kind.${kind}`;
    return te(key) ? t(key) : kind;
  };
}
