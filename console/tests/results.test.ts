import { flushPromises, mount } from "@vue/test-utils";
import { describe, expect, it } from "vitest";
import { createMemoryHistory, createRouter } from "vue-router";
import { defineComponent, nextTick } from "vue";
import Picker from "@/shared/components/Picker.vue";
import { useQueryList, useQueryParam } from "@/shared/lib/url";
import { readable } from "@/shared/lib/values";
import { conditionOf, exportAddress, fieldColumns, openable, presenceOf, sortKey, sortOf, stepsOf } from "@/features/results/rows";

const known = ["price", "created_at", "-odd", 'a "b" <c>', "a.b"];

describe("conditions", () => {
  it("name columns with odd characters in quotes, and paths as they are", () => {
    expect(conditionOf("price", ">=", "10", known)).toBe("price>=10");
    expect(conditionOf("a.b", "=", "x", known)).toBe("a.b=x");
    expect(conditionOf("tags[0]", "~", "te=a", known)).toBe("tags[0]~te=a");
    expect(conditionOf('a "b" <c>', "", "left out", known)).toBe('"a \\"b\\" <c>"=');
    expect(conditionOf("price", "?", "left out", known)).toBe("price?");
  });

  it("about the presence of a value are told from others", () => {
    for (const field of known) {
      expect(presenceOf(conditionOf(field, "?", "", known))).toEqual({ field, isFilled: true });
      expect(presenceOf(conditionOf(field, "", "", known))).toEqual({ field, isFilled: false });
    }
    for (const other of ["price=3", "price>=", "price!=", "name~x?"]) expect(presenceOf(other)).toBeNull();
  });
});

describe("columns", () => {
  const field = (name: string, type: "number" | "text" | "json", examples: unknown[] = []) => ({ field: name, filled: 1, share: 1, type, examples });

  it("of numbers are right-aligned, also where only the values tell", () => {
    const columns = fieldColumns([field("price", "number"), field("stock", "text", [1, 2]), field("name", "text", ["a", 1]), field("tags", "json")], true);
    expect(columns.map((one) => one.align)).toEqual(["end", "end", "start", "start"]);
    expect(columns[0]).toMatchObject({ key: "data.price", label: "price", sortable: true });
  });

  it("are sorted by the name that the API knows", () => {
    for (const sort of ["price", "-price", "-odd", "--odd", "created_at"]) expect(sortOf(sortKey(sort, known))).toBe(sort);
    expect(sortKey("-odd", known)).toBe("data.-odd");
    expect(sortKey("-created_at", [])).toBe("-created_at");
    expect(sortKey("created_at", known)).toBe("data.created_at");
  });
});

describe("values", () => {
  it("are one readable line", () => {
    expect(readable(null)).toBe("–");
    expect(readable(["green", 3, null])).toBe("green, 3, –");
    expect(readable({ name: "Ann", tags: ["a", { b: 1 }] })).toBe('name: Ann, tags: ["a",{"b":1}]');
    expect([readable([]), readable({}), readable(""), readable(false)]).toEqual(["[]", "{}", "", "false"]);
    expect(readable("x".repeat(1000))).toHaveLength(301);
  });

  it("are links only with the schemes of the web", () => {
    expect(openable("https://shop.example/")).toBe("https://shop.example/");
    for (const other of ["javascript:alert(1)", " https://x", "data:text/html,x"]) expect(openable(other)).toBeUndefined();
  });
});

describe("steps", () => {
  const change = (item: number, field: string, before: unknown, after: unknown, step = "number") => ({ id: `${item}`, run_id: "1", url: "", item, step, field, before, after, note: "" });
  const log = [change(0, "price", " 3 ", "3", "trim"), change(0, "price", "3", 3), change(1, "price", "€4", 4), change(2, "price", "4,00", 4), change(3, "price", "€4", 4)];

  it("are those that ended in the values of the row, each list once", () => {
    expect(stepsOf(log, { price: 3 })).toEqual([log.slice(0, 2)]);
    expect(stepsOf(log, { price: 4 }).map((list) => list[0]!.before)).toEqual(["€4", "4,00"]);
    expect(stepsOf(log, { price: 5 })).toEqual([]);
  });

  it("may concern fields that later steps removed, and values that the log cut", () => {
    expect(stepsOf([change(0, "raw", "a", "b")], { price: 1 })).toHaveLength(1);
    expect(stepsOf([change(0, "text", " x", "long…")], { text: "long text" })).toHaveLength(1);
    expect(stepsOf([change(0, "text", " x", "long…")], { text: "other" })).toHaveLength(0);
    expect(stepsOf([change(0, "text", "-", null)], { text: null })).toHaveLength(1);
  });
});

describe("exports", () => {
  it("ask for what the screen shows, and only what the format can", () => {
    const choice = { format: "csv", compression: "gz", onlyChanges: true, excel: true };
    expect(exportAddress("7", ["price>1", "a&b=c"], choice)).toBe("/api/results/export?run_id=7&format=csv&where=price%3E1&where=a%26b%3Dc&compression=gz&only_changes=true&excel=true");
    expect(exportAddress("7", [], { ...choice, format: "xlsx", onlyChanges: false })).toBe("/api/results/export?run_id=7&format=xlsx");
  });
});

describe("the address", () => {
  it("holds lists and single values that change at once", async () => {
    const router = createRouter({ history: createMemoryHistory(), routes: [{ path: "/", component: { template: "<p />" } }] });
    await router.push("/?where=a&where=b&row=1");
    let where!: ReturnType<typeof useQueryList>;
    let row!: ReturnType<typeof useQueryParam>;
    const owner = defineComponent({ setup: () => ((where = useQueryList("where")), (row = useQueryParam("row")), () => null) });
    mount(owner, { global: { plugins: [router] } });
    expect([where.value, row.value]).toEqual([["a", "b"], "1"]);
    where.value = [...where.value, "c&d"];
    row.value = "";
    await flushPromises();
    expect(router.currentRoute.value.fullPath).toBe("/?where=a&where=b&where=c%26d");
    where.value = [];
    await flushPromises();
    expect(router.currentRoute.value.fullPath).toBe("/");
  });
});

describe("a picker", () => {
  const options = (count: number) => Array.from({ length: count }, (_, number) => ({ value: String(number), label: `#${number}` }));

  it("is a select of few choices, and a field with suggestions of many, which takes others too", async () => {
    const few = mount(Picker, { props: { id: "p", options: options(10), modelValue: "3" } });
    expect(few.get("select").element.value).toBe("3");
    const many = mount(Picker, { props: { id: "p", options: options(11), modelValue: "3" } });
    const input = many.get("input");
    expect(document.createRange().createContextualFragment(many.html()).querySelectorAll("option")).toHaveLength(11);
    await input.setValue(" 99 ");
    await input.trigger("change");
    expect(many.emitted("update:modelValue")?.at(-1)).toEqual(["99"]);
    input.element.value = "";
    await input.trigger("change");
    await nextTick();
    expect(input.element.value).not.toBe("");
  });
});
