import { describe, expect, it } from "vitest";
import { cursorAt, lineOf, placeOf, readPlaces } from "@/shared/lib/jsonPlaces";
import { keysAt, valuesAt, withValues } from "@/shared/lib/jsonSchema";

const TASK = `{
  "name": "a \\"shop\\"",
  "entry_urls": ["http://a.de/", {"url": 3}],
  "selectors": {
    "fields": {"a.b": "x", "a": {"b": 1e3}}
  }
}`;

function marked(path: string, text = TASK): string {
  const { from, to } = placeOf(readPlaces(text), path);
  return text.slice(from, to);
}

describe("the place of a path", () => {
  it("is the key and the value it names", () => {
    expect(marked("name")).toBe('"name": "a \\"shop\\""');
    expect(marked("entry_urls[0]")).toBe('"http://a.de/"');
    expect(marked("entry_urls[1].url")).toBe('"url": 3');
  });

  it("is the key of a value with content", () => {
    expect(marked("selectors.fields")).toBe('"fields"');
    expect(marked("entry_urls[1]")).toBe("{");
  });

  it("tells keys with dots from paths", () => {
    expect(marked("selectors.fields.a.b")).toBe('"a.b": "x"');
    expect(marked("a.b", '{"a": {"b": 7}}')).toBe('"b": 7');
  });

  it("is the nearest value above what is not there", () => {
    expect(marked("selectors.items")).toBe('"selectors"');
    expect(marked("nothing[3].here")).toBe("{");
    expect(placeOf(readPlaces(""), "name")).toEqual({ from: 0, to: 0 });
  });

  it("is found before the mistake of a broken text", () => {
    const broken = '{"name": "x", "limits": {"max_pages": }';
    expect(readPlaces(broken).error).toBe(broken.indexOf("}"));
    expect(marked("name", broken)).toBe('"name": "x"');
  });
});

describe("reading", () => {
  it("agrees with JSON.parse on what JSON is", () => {
    const texts = ["1", "-0.5e+3", "01", "[1,]", '{"a":1,}', "{'a':1}", '"\\u00e9"', '"\\x"', '"a\nb"', "tru", "[]x", " \n[null,true] ", '{"a"}', "[", "--1", '{"__proto__": {"x": 1}}'];
    for (const text of texts) {
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = false;
      }
      expect(readPlaces(text).error === null, text).toBe(isJson);
    }
  });

  it("ends where the text is nested without end", () => {
    expect(readPlaces("[".repeat(100_000)).error).not.toBeNull();
  });

  it("counts lines from one", () => {
    expect([0, TASK.indexOf('"name"'), TASK.indexOf('"fields"')].map((offset) => lineOf(TASK, offset))).toEqual([1, 2, 5]);
  });
});

describe("the cursor", () => {
  const at = (text: string) => cursorAt(text.replace("|", ""), text.indexOf("|"));

  it("stands at keys and values of the path it is in", () => {
    expect(at('{"limits": {"ma|"}}')).toEqual({ path: ["limits"], kind: "key", from: 12 });
    expect(at('{"fetch": {"mode": "h|')).toEqual({ path: ["fetch", "mode"], kind: "value", from: 19 });
    expect(at('{"a": 1, na|')).toEqual({ path: [], kind: "key", from: 9 });
    expect(at('{"follow": [{}, {"to": "p"}, {|')).toEqual({ path: ["follow", 2], kind: "key", from: 30 });
    expect(at("|")).toBeNull();
  });
});

describe("the schema", () => {
  const schema = {
    properties: { fetch: { $ref: "#/$defs/Fetch", description: "How pages are fetched." }, follow: { items: { anyOf: [{ $ref: "#/$defs/Fetch" }, { type: "null" }] } } },
    $defs: { Fetch: { description: "A fetch.", properties: { mode: { enum: ["http", "browser"] }, again: { $ref: "#/$defs/Fetch" } } } },
  };

  it("names keys and values at a path, through references and choices", () => {
    expect(keysAt(schema, [])).toEqual([
      { text: "fetch", about: "How pages are fetched." },
      { text: "follow", about: "" },
    ]);
    expect(keysAt(schema, ["follow", 0, "again", "again"]).map((one) => one.text)).toEqual(["mode", "again"]);
    expect(valuesAt(schema, ["fetch", "mode"]).map((one) => one.text)).toEqual(['"http"', '"browser"']);
    expect(keysAt(schema, ["nothing", 3])).toEqual([]);
  });

  it("names values that only the server knows", () => {
    const schema = { properties: { fetch: { properties: { proxy_pool: { anyOf: [{ type: "string" }, { type: "null" }] } } } } };
    expect(valuesAt(withValues(schema, "proxy_pool", ["dc", "home"]), ["fetch", "proxy_pool"]).map((one) => one.text)).toEqual(['"dc"', '"home"', "null"]);
    expect(valuesAt(schema, ["fetch", "proxy_pool"]).map((one) => one.text)).toEqual(["null"]);
  });
});
