import { mount } from "@vue/test-utils";
import { describe, expect, it, vi } from "vitest";
import { defineComponent, h } from "vue";
import { Problem, errorAt } from "@/api/problem";
import { createMessages } from "@/app/i18n";
import { commandOf, pageOf, queryOf } from "@/features/audit/entries";
import { commandsToCheck as commandsToCheckCookies, commandsToUpload, limitOf, statusesOf, withoutPages } from "@/features/cookies/commands";
import { useKindName } from "@/features/notifications/kinds";
import { commandsToAdd, commandsToCheck, isPool, linesOf, weightOf } from "@/features/proxies/commands";
import { commandsOf, isName, referenceTo } from "@/features/secrets/names";
import { rolesFor, tokenState } from "@/features/settings/access";
import CheckGroup from "@/shared/components/CheckGroup.vue";
import TextField from "@/shared/components/TextField.vue";
import { useAttempt } from "@/shared/lib/attempt";
import { shellWord } from "@/shared/lib/copy";

const NOW = Date.parse("2026-01-31T12:00:00Z");
const wrong = (path: string) => new Problem(422, "request_invalid", "wrong", null, [{ path, message: `${path} is wrong`, hint: null }]);

describe("a failed attempt", () => {
  it("says at its field what is wrong, and elsewhere what has no field", async () => {
    const { busy, rest, at, attempt } = useAttempt(["name", "scopes"]);
    expect(await attempt(() => Promise.reject(wrong("scopes[1]")))).toBe(false);
    expect([at("scopes"), at("name"), rest.value, busy.value]).toEqual(["scopes[1] is wrong", undefined, null, ""]);
    const other = wrong("names");
    await attempt(() => Promise.reject(other));
    expect([at("name"), rest.value]).toEqual([undefined, other]);
    expect(await attempt(() => Promise.resolve())).toBe(true);
    expect(rest.value).toBeNull();
    expect(errorAt(new Error("x"), "name")).toBeUndefined();
  });

  it("names the button that is busy", async () => {
    const { busy, attempt } = useAttempt();
    let finish = () => {};
    const done = attempt(() => new Promise<void>((resolve) => (finish = resolve)), "test");
    expect(busy.value).toBe("test");
    finish();
    await done;
    expect(busy.value).toBe("");
  });
});

describe("the audit log", () => {
  it("is asked for what the filter says, and by the same command", () => {
    const filter = { actor: "ann o'neil", action: "", subject: "task:3", since: "7d" } as const;
    expect(queryOf(filter, NOW)).toEqual({ actor: "ann o'neil", subject: "task:3", since: "2026-01-24T12:00:00.000Z" });
    expect(commandOf(filter)).toBe("smartspider audit list --subject task:3 --actor 'ann o'\\''neil' --since 7d --limit 1000");
    expect(queryOf({ actor: "", action: "", subject: "", since: "constructor" as never }, NOW)).toEqual({});
  });

  it("leads to what an entry is about, and nowhere else", () => {
    expect(["task:3", "run:7", "schedule:1", "notification:2"].map(pageOf)).toEqual(["/tasks/3", "/runs/7", "/schedules?schedule=1", "/notifications?target=2"]);
    for (const other of ["user:1", "task:../x", "task:1 ", "javascript:1", ""]) expect(pageOf(other)).toBeNull();
  });

  it("has no word that a shell would read otherwise", () => {
    expect([shellWord("a-b.c:1@d/e"), shellWord(""), shellWord("$(x)`y`"), shellWord("a b")]).toEqual(["a-b.c:1@d/e", "''", "'$(x)`y`'", "'a b'"]);
  });
});

describe("tokens", () => {
  it("have no role with more rights than their maker", () => {
    expect(rolesFor("admin")).toContain("admin");
    expect(rolesFor("operator")).not.toContain("admin");
    expect([rolesFor("viewer"), rolesFor(undefined)]).toEqual([[], []]);
  });

  it("expire at their moment, and stay revoked", () => {
    const at = (expires: string | null, revoked: string | null = null) => tokenState({ expires_at: expires, revoked_at: revoked }, NOW);
    expect([at(null), at("2026-01-31T12:00:01Z"), at("2026-01-31T12:00:00Z"), at("2027-01-01T00:00:00Z", "2026-01-01T00:00:00Z")]).toEqual(["valid", "valid", "expired", "revoked"]);
  });
});

describe("secrets", () => {
  it("have names that a task can refer to", () => {
    for (const name of ["API_TOKEN", "_", "a1", "x".repeat(100)]) expect(isName(name), name).toBe(true);
    for (const name of ["", "1a", "a-b", "a b", "a/b", "..", "a\n", "é", "x".repeat(101)]) expect(isName(name), name).toBe(false);
    expect(referenceTo("API_TOKEN")).toBe("${API_TOKEN}");
  });

  it("are set by commands that ask for the value", () => {
    expect(commandsOf("KEY", null, "http://a")).toEqual({
      cli: "smartspider secret set KEY --server http://a",
      curl: `printf %s "$VALUE" | jq -Rs '{value: .}' | curl -s -X PUT -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" --data-binary @- 'http://a/api/secrets/KEY'`,
      python: 'await client.set_secret("KEY", value=getpass.getpass())',
    });
    const { cli, curl, python } = commandsOf("KEY", true, "http://a");
    expect([cli, curl, python]).toEqual([expect.stringContaining(" --shared"), expect.stringContaining("{value: ., shared: true}"), expect.stringContaining(", shared=True)")]);
    expect(commandsOf("KEY", false, "http://a").cli).toContain(" --private");
  });
});

describe("proxies", () => {
  it("are read one in a line, each once", () => {
    expect(linesOf(" http://a:1 \r\n\nsocks5://b:2\nhttp://a:1\n")).toEqual(["http://a:1", "socks5://b:2"]);
    expect(linesOf(" \n")).toEqual([]);
  });

  it("belong to pools with names, and have a weight", () => {
    for (const name of ["dc", "a.b-c_1", "_", "x".repeat(100)]) expect(isPool(name), name).toBe(true);
    for (const name of ["", "-a", ".", "a b", 'a"b', "é", "a\n", "x".repeat(101)]) expect(isPool(name), name).toBe(false);
    expect(["1", " 0.5 ", "1000", "0", "-1", "1001", "", "a", "Infinity"].map(weightOf)).toEqual([1, 0.5, 1000, null, null, null, null, null, null]);
  });

  it("are added by commands that ask for the URL", () => {
    expect(commandsToAdd("dc", 2, "http://a")).toEqual({
      cli: "smartspider proxy add - --pool dc --weight 2 --server http://a",
      curl: `printf %s "$PROXY" | jq -Rs '{url: ., pool: "dc", weight: 2}' | curl -s -X POST -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" 'http://a/api/proxies' --data-binary @-`,
      python: 'await client.add_proxy(url=getpass.getpass("URL: "), pool="dc", weight=2)',
    });
  });

  it("are checked by commands that no URL breaks out of", () => {
    const url = `http://b/?q=it's "$(x)"`;
    expect(commandsToCheck("3", url, "http://a")).toEqual({
      cli: `smartspider proxy check 3 --url 'http://b/?q=it'\\''s "$(x)"' --server http://a`,
      curl: `curl -s -X POST -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" 'http://a/api/proxies/3/check' --data '{"url":"http://b/?q=it'\\''s \\"$(x)\\""}'`,
      python: `await client.check_proxy("3", url="http://b/?q=it's \\"$(x)\\"")`,
    });
  });
});

describe("cookies", () => {
  it("have a limit, and statuses of pages without a login", () => {
    expect(["1", " 100 ", "0", "101", "1.5", "-1", "", "a"].map(limitOf)).toEqual([1, 100, null, null, null, null, null, null]);
    expect(["403, 451", "403 451", "", "200", "40", "a", "403;451"].map(statusesOf)).toEqual([[403, 451], [403, 451], [], null, null, null, null]);
  });

  it("leave the pages of a HAR file behind", () => {
    const entry = (path: string, cookie: string) => ({
      request: { url: `https://ann:pass@a.example${path}`, headers: [{ name: "Cookie", value: cookie }, { name: "Accept", value: "x" }], postData: { text: "password" } },
      response: { headers: [{ name: "set-cookie", value: "b=2" }], content: { text: "page" } },
    });
    const plain = { request: { url: "https://a.example/logo" }, response: {} };
    const kept = (cookie: string) => ({ request: { url: "https://a.example", headers: [{ name: "Cookie", value: cookie }] }, response: { headers: [{ name: "set-cookie", value: "b=2" }] } });
    const har = { log: { version: "1.2", entries: [entry("/1", "a=1"), plain, entry("/2", "a=2"), entry("/3", "a=1"), null] } };
    expect(JSON.parse(withoutPages(JSON.stringify(har)))).toEqual({ log: { entries: [kept("a=2"), kept("a=1")] } });
    for (const text of ["a=1; b=2", '{"a": "1"}', "{a", '[{"name": "a"}]', '{"log": 1}', '{"log": {"entries": 1}}']) expect(withoutPages(text)).toBe(text);
  });

  it("are uploaded by commands that read a file and say what was written", () => {
    expect(commandsToUpload("a.example", "", {}, "http://a")).toEqual({
      cli: "smartspider cookie upload FILE --domain a.example --server http://a",
      curl: `jq -Rs --argjson set '{"domain":"a.example"}' '$set + {cookies: .}' FILE | curl -s -X POST -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" 'http://a/api/cookies/upload' --data-binary @-`,
      python: 'await client.upload_cookies(cookies=pathlib.Path("FILE").read_text(), domain="a.example")',
    });
    const options = { shared: false, limit: 2, check_url: "http://a.example/?a=1&b", signed_out: { status: [403, 451], json: "error == 'login'" } };
    const { cli, python } = commandsToUpload("a.example", "it's", options, "http://a");
    expect(cli).toContain(`--name 'it'\\''s' --private --limit 2 --check-url 'http://a.example/?a=1&b' --signed-out 'status=403' --signed-out 'status=451' --signed-out 'json=error == '\\''login'\\'''`);
    expect(python).toContain(`name="it's", shared=False, limit=2, check_url="http://a.example/?a=1&b", signed_out={"status":[403,451],"json":"error == 'login'"})`);
  });

  it("are checked by commands, with a page or without one", () => {
    expect(commandsToCheckCookies("3", "", "http://a")).toEqual({
      cli: "smartspider cookie check 3 --server http://a",
      curl: `curl -s -X POST -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" 'http://a/api/cookies/3/check' --data '{}'`,
      python: 'await client.check_cookies("3")',
    });
    expect(commandsToCheckCookies("3", "http://b/?q=$(x)", "http://a").cli).toBe("smartspider cookie check 3 --url 'http://b/?q=$(x)' --server http://a");
  });
});

describe("a way of notifications", () => {
  it("is called by its kind if it is that of a plug-in", async () => {
    const named = defineComponent({
      setup() {
        const name = useKindName();
        return () => ["webhook", "acme.sms"].map((kind) => h("p", name(kind)));
      },
    });
    expect(mount(named, { global: { plugins: [await createMessages()] } }).findAll("p").map((one) => one.text())).toEqual(["Webhook", "acme.sms"]);
  });
});

describe("fields", () => {
  it("are taken when they are complete, if they are lazy", async () => {
    const update = vi.fn();
    const field = mount(TextField, { props: { label: "Who", modelValue: "", modelModifiers: { lazy: true }, "onUpdate:modelValue": update } });
    const input = field.get("input");
    input.element.value = "ann";
    await input.trigger("input");
    expect(update).not.toHaveBeenCalled();
    await input.trigger("change");
    expect(update).toHaveBeenCalledWith("ann");
  });

  it("of several choices have a common label and error", async () => {
    const update = vi.fn();
    const group = mount(CheckGroup, {
      props: { label: "Events", options: [{ value: "a", label: "A" }, { value: "b", label: "B" }], modelValue: ["a"], error: "too few", "onUpdate:modelValue": update },
      global: { plugins: [await createMessages()] },
    });
    expect(group.get("legend").text()).toBe("Events");
    expect(group.get(`#${CSS.escape(group.get("fieldset").attributes("aria-describedby")!)}`).text()).toBe("too few");
    await group.findAll("input")[1]!.setValue(true);
    expect(update).toHaveBeenCalledWith(["a", "b"]);
  });
});
