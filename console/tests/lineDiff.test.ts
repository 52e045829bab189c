import { mount } from "@vue/test-utils";
import { describe, expect, it } from "vitest";
import { createMessages } from "@/app/i18n";
import DiffView from "@/shared/components/DiffView.vue";
import { diffLines, diffParts } from "@/shared/lib/lineDiff";
import { preferences } from "@/shared/lib/preferences";

const SIGNS = { same: " ", added: "+", removed: "-" };
const shown = (before: string[], after: string[]) => diffLines(before.join("\n"), after.join("\n")).map((line) => SIGNS[line.kind] + line.text);

describe("the difference of two texts", () => {
  it("is the shortest list of removed and added lines", () => {
    expect(shown(["a", "b", "c"], ["a", "x", "c"])).toEqual([" a", "-b", "+x", " c"]);
    expect(shown(["a", "b", "c", "a", "b", "b", "a"], ["c", "b", "a", "b", "a", "c"]).filter((line) => line[0] !== " ")).toHaveLength(5);
  });

  it("knows empty and equal texts", () => {
    expect(diffLines("", "")).toEqual([]);
    expect(shown([], ["a"])).toEqual(["+a"]);
    expect(shown(["a"], ["a"])).toEqual([" a"]);
    expect(shown(["a", "b"], [])).toEqual(["-a", "-b"]);
  });

  it("gives both texts back, whatever they are", () => {
    let seed = 7;
    const next = (below: number) => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % below;
    for (let round = 0; round < 200; round++) {
      const text = () => Array.from({ length: next(12) }, () => "abc"[next(3)]!);
      const [before, after] = [text(), text()];
      const lines = diffLines(before.join("\n"), after.join("\n"));
      expect(lines.filter((line) => line.kind !== "added").map((line) => line.text)).toEqual(before);
      expect(lines.filter((line) => line.kind !== "removed").map((line) => line.text)).toEqual(after);
    }
  });

  it("of texts with nothing in common is both as a whole", () => {
    const many = (prefix: string) => Array.from({ length: 3_000 }, (_, n) => prefix + n);
    expect(shown(many("a"), many("b"))).toHaveLength(6_000);
  });

  it("leaves out equal lines far from a change", () => {
    const before = Array.from({ length: 20 }, (_, n) => `line ${n}`);
    const after = before.map((line, n) => (n === 10 ? "new" : line));
    expect(diffParts(diffLines(before.join("\n"), after.join("\n"))).map((part) => ("lines" in part ? part.lines.length : -part.skipped))).toEqual([-7, 8, -6]);
  });
});

describe("DiffView", () => {
  it("marks lines by a glyph and a word, not by colour alone", async () => {
    preferences.locale = "en";
    const view = mount(DiffView, { props: { before: "a\n<b>", after: "a\nc", label: "Difference" }, global: { plugins: [await createMessages()] } });
    expect(view.find(".removed").text()).toBe("−removed:<b>");
    expect(view.find(".added").text()).toBe("+added:c");
    expect(view.text()).toContain("Lines added: 1, removed: 1");
    expect(view.find("[role=region]").attributes("aria-label")).toBe("Difference");
  });
});
