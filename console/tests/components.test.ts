import { mount } from "@vue/test-utils";
import { afterEach, describe, expect, it, vi } from "vitest";
import { effectScope, nextTick } from "vue";
import { Problem as ApiProblem } from "@/api/problem";
import { createMessages } from "@/app/i18n";
import { isAvailable } from "@/app/capabilities";
import AlertDialog from "@/shared/components/AlertDialog.vue";
import Button from "@/shared/components/Button.vue";
import Cause from "@/shared/components/Cause.vue";
import CopyAs from "@/shared/components/CopyAs.vue";
import Problem from "@/shared/components/Problem.vue";
import RunBars from "@/shared/components/RunBars.vue";
import StateChip from "@/shared/components/StateChip.vue";
import TextField from "@/shared/components/TextField.vue";
import { useShortcut } from "@/shared/lib/shortcuts";
import { defineFeature } from "@/shared/feature";

const global = { plugins: [await createMessages()] };
const settled = async () => {
  for (let turn = 0; turn < 5; turn++) await nextTick();
};

afterEach(() => {
  document.body.innerHTML = "";
  vi.restoreAllMocks();
});

describe("components", () => {
  it("show a state as a glyph with a word", () => {
    expect(mount(StateChip, { props: { state: "completed", failed: 3 }, global }).text()).toBe("✓! completed, 3 failed");
    expect(mount(StateChip, { props: { state: "new<b>" }, global }).text()).toBe("• new<b>");
  });

  it("say why a button is disabled, and do not click it", async () => {
    const button = mount(Button, { props: { disabled: true, why: "only operators may" }, slots: { default: "Stop" } });
    await button.trigger("click");
    expect(button.emitted("click")).toBeUndefined();
    expect(button.text()).toContain("only operators may");
  });

  it("tie an error to its field", () => {
    const field = mount(TextField, { props: { modelValue: "", label: "Name", error: "is taken" }, attachTo: document.body });
    const input = field.get("input");
    expect(input.attributes("aria-invalid")).toBe("true");
    expect(document.getElementById(input.attributes("aria-describedby")!)?.textContent).toBe("is taken");
    expect(document.querySelector(`label[for="${input.attributes("id")}"]`)?.textContent).toBe("Name");
  });

  it("show a problem in the words of the server, with all that is wrong", () => {
    const error = new ApiProblem(422, "request_invalid", "the name is <i>taken</i>", "choose another", [{ path: "name", message: "taken", hint: null }], "c-1");
    const text = mount(Problem, { props: { error }, global }).text();
    for (const part of ["The request is not valid", "request_invalid", "the name is <i>taken</i>", "choose another", "name", "c-1"]) expect(text).toContain(part);
  });

  it("show a cause without a translation as the server says it", () => {
    expect(mount(Cause, { props: { code: "odd", text: "the server hung up" }, global }).text()).toContain("the server hung up");
  });

  it("delete only after the name was typed, and stay open when that fails", async () => {
    const run = vi.fn(() => Promise.reject(new ApiProblem(409, "conflict", "a run is active", "stop it")));
    const props = { open: true, title: "Delete shop", text: "320 rows", confirm: "Delete", name: "shop", run };
    mount(AlertDialog, { props, global, attachTo: document.body });
    await settled();
    const submit = document.querySelector<HTMLButtonElement>("button[type=submit]")!;
    expect(submit.disabled).toBe(true);
    const input = document.querySelector("input")!;
    input.value = "shop";
    input.dispatchEvent(new Event("input"));
    await settled();
    expect(submit.disabled).toBe(false);
    document.querySelector("form")!.dispatchEvent(new Event("submit"));
    await settled();
    expect(run).toHaveBeenCalledTimes(1);
    expect(document.querySelector("[role=alertdialog]")?.textContent).toContain("a run is active");
  });

  it("copy without the clipboard of a secure context", async () => {
    const copied: string[] = [];
    vi.stubGlobal("isSecureContext", false);
    document.execCommand = () => {
      copied.push((document.activeElement as HTMLTextAreaElement).value);
      return true;
    };
    const copy = mount(CopyAs, { props: { cli: "smartspider run list", curl: "curl x" }, global, attachTo: document.body });
    await copy.get("button").trigger("click");
    await settled();
    expect(copied).toEqual(["smartspider run list"]);
    expect(copy.get("[role=status]").text()).toBe("CLI copied");
    vi.unstubAllGlobals();
  });

  it("walk through run bars by keyboard", async () => {
    const runs = Array.from({ length: 40 }, (_, n) => ({ id: String(n), state: "completed", rows: n, failed: 0, at: null }));
    const bars = mount(RunBars, { props: { runs, label: "Runs" }, global });
    expect(bars.attributes("aria-valuemax")).toBe("30");
    await bars.trigger("keydown", { key: "ArrowLeft" });
    await bars.trigger("keydown", { key: "Enter" });
    expect(bars.emitted("open")).toEqual([["38"]]);
  });
});

describe("shortcuts", () => {
  it("are keys, chords and sequences, not in a field, and end with their owner", () => {
    const done: string[] = [];
    const scope = effectScope();
    scope.run(() => {
      useShortcut("g r", () => done.push("runs"));
      useShortcut("Ctrl+K", () => done.push("palette"));
    });
    const press = (key: string, more = {}, target: EventTarget = document.body) =>
      target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, ...more }));
    press("r");
    press("g");
    press("r");
    press("k", { ctrlKey: true });
    const input = document.body.appendChild(document.createElement("input"));
    press("g", {}, input);
    press("r", {}, input);
    expect(done).toEqual(["runs", "palette"]);
    scope.stop();
    press("g");
    press("r");
    expect(done).toHaveLength(2);
  });
});

describe("features", () => {
  it("show where the server has their capability", () => {
    const hosts = defineFeature({ id: "hosts", capability: "hosts" });
    expect([isAvailable(hosts, ["hosts"]), isAvailable(hosts, ["runs"])]).toEqual([true, false]);
    expect(isAvailable(defineFeature({ id: "any" }), [])).toBe(true);
  });
});
