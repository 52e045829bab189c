import { computed, type Ref } from "vue";
import type { Schemas } from "@/api/client";
import { useQueryList } from "@/shared/lib/url";
import { MOST_COLUMNS } from "./rows";

/** The columns that are chosen in the address, in the order of the task; the first ones unless some are. */
export function useColumns(fields: Ref<readonly Schemas["FieldCoverage"][]>) {
  const chosen = useQueryList("column");
  const shown = computed(() => {
    const some = fields.value.filter((one) => chosen.value.includes(one.field));
    return some.length ? some : fields.value.slice(0, MOST_COLUMNS);
  });
  function toggle(field: string): void {
    const names = shown.value.map((one) => one.field);
    const next = names.includes(field) ? names.filter((one) => one !== field) : [...names, field];
    if (next.length) chosen.value = next;
  }
  return { shown, toggle };
}
