/** Columns, conditions and changes of rows, without the screen. */
import type { Schemas } from "@/api/client";
import type { Column } from "@/shared/components/DataGrid.vue";

export type Row = Schemas["ResultView"];
type Coverage = Schemas["FieldCoverage"];
type Change = Schemas["CleaningView"];

/** Columns that are shown unless others are chosen. */
export const MOST_COLUMNS = 12;
/** The API sorts up to this number of rows by value. */
export const MOST_SORTED = 200_000;
/** Sorts by the time of storing. */
export const STORED = "created_at";

const WIDTHS: Record<Coverage["type"], string> = { number: "110px", integer: "110px", boolean: "90px", datetime: "180px", text: "1fr", json: "1fr" };

/** Return the columns of fields, of which each is found under `data.NAME`. */
export function fieldColumns(fields: readonly Coverage[], isSortable: boolean): Column[] {
  return fields.map(({ field, type, examples }) => {
    const isNumber = type === "number" || type === "integer" || (examples.length > 0 && examples.every((one) => typeof one === "number"));
    return { key: `data.${field}`, label: field, width: isNumber ? WIDTHS.number : WIDTHS[type], align: isNumber ? "end" : "start", sortable: isSortable };
  });
}

/** Return what the grid calls the order that the API calls `sort`, and the other way round. */
export function sortKey(sort: string, known: readonly string[]): string {
  const isDescending = sort.startsWith("-") && !known.includes(sort);
  const name = isDescending ? sort.slice(1) : sort;
  return `${isDescending ? "-" : ""}${name === STORED && !known.includes(name) ? name : `data.${name}`}`;
}

export function sortOf(key: string): string {
  return key.replace(/^(-?)data\./, "$1");
}

export const COMPARISONS = ["=", "!=", ">", ">=", "<", "<=", "~", "?", ""] as const;
/** A comparison of the API: `?` finds values, the empty one rows without a value. */
export type Comparison = (typeof COMPARISONS)[number];

/** Return a condition as the API takes it. A field may also be a path, such as `tags[0]`. */
export function conditionOf(field: string, comparison: Comparison, value: string, known: readonly string[]): string {
  const needsQuotes = known.includes(field) && /["=!<>~?]|^\s|\s$/.test(field);
  const name = needsQuotes ? `"${field.replace(/["\\]/g, "\\$&")}"` : field;
  if (comparison === "?") return `${name}?`;
  return comparison === "" ? `${name}=` : `${name}${comparison}${value}`;
}

/** Tell a condition about the presence of a value from others, which can be shown as they are. */
export function presenceOf(condition: string): { field: string; isFilled: boolean } | null {
  const found = /^((?:"(?:[^"\\]|\\.)*"|[^"=!<>~])+)([=?])$/.exec(condition);
  return found ? { field: found[1]!.replace(/^"(.*)"$/, (_, name: string) => name.replace(/\\(.)/g, "$1")), isFilled: found[2] === "?" } : null;
}

/**
 * Return the changes of the items of a page that ended in the values of a row, item by item and each list once: the log
 * has the number of an item on its page, which a row does not have.
 */
export function stepsOf(changes: readonly Change[], data: Record<string, unknown>): Change[][] {
  const items = new Map<number, Change[]>();
  for (const change of changes) items.set(change.item, [...(items.get(change.item) ?? []), change]);
  const found = new Map<string, Change[]>();
  for (const list of items.values()) {
    const last = new Map(list.map((change) => [change.field, change.after]));
    if ([...last].every(([field, after]) => !(field in data) || isSame(after, data[field]))) {
      found.set(JSON.stringify(list.map(({ step, field, before, after }) => [step, field, before, after])), list);
    }
  }
  return [...found.values()];
}

/** Long values are cut in the log. */
function isSame(logged: unknown, value: unknown): boolean {
  if (typeof logged === "string" && logged.endsWith("…")) {
    const whole = typeof value === "string" ? value : JSON.stringify(value);
    if (whole.startsWith(logged.slice(0, -1))) return true;
  }
  return JSON.stringify(logged) === JSON.stringify(value ?? null);
}

/** Return the address of a page if it may be opened: other schemes would run in this page. */
export function openable(url: string): string | undefined {
  return /^https?:\/\//i.test(url) ? url : undefined;
}

export const FORMATS = ["csv", "xlsx", "json", "jsonl", "parquet", "sqlite", "xml", "md"] as const;
const WHOLE = new Set(["xlsx", "parquet", "sqlite"]);
export const COMPRESSIONS = ["", "gz", "zst", "bz2", "xz"] as const;

export interface ExportChoice {
  format: string;
  compression: string;
  onlyChanges: boolean;
  excel: boolean;
}

export function isCompressible(format: string): boolean {
  return !WHOLE.has(format);
}

/** Return the address of the file with the rows of a run that match all conditions. */
export function exportAddress(runId: string, where: readonly string[], choice: ExportChoice): string {
  const query = new URLSearchParams({ run_id: runId, format: choice.format });
  for (const one of where) query.append("where", one);
  if (choice.compression && isCompressible(choice.format)) query.set("compression", choice.compression);
  if (choice.onlyChanges) query.set("only_changes", "true");
  if (choice.excel && choice.format === "csv") query.set("excel", "true");
  return `/api/results/export?${query}`;
}
