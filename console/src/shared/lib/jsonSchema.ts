/** Keys and values that a JSON Schema allows at a path. */

export type JsonSchema = { [keyword: string]: unknown };
export interface Suggestion {
  text: string;
  about: string;
}

const MOST_ALTERNATIVES = 200;

/** Return the keys of the objects at a path. */
export function keysAt(schema: JsonSchema, path: readonly (string | number)[]): Suggestion[] {
  const found = new Map<string, string>();
  for (const one of schemasAt(schema, path)) {
    for (const [name, value] of Object.entries(objectOf(one.properties))) {
      if (!found.has(name)) found.set(name, aboutOf(schema, value as JsonSchema));
    }
  }
  return [...found].map(([text, about]) => ({ text, about }));
}

/** Return the values that are named for a path, as JSON. */
export function valuesAt(schema: JsonSchema, path: readonly (string | number)[]): Suggestion[] {
  const values = schemasAt(schema, path).flatMap((one) => {
    if (Array.isArray(one.enum)) return one.enum as unknown[];
    if (one.const !== undefined) return [one.const];
    return one.type === "boolean" ? [true, false] : one.type === "null" ? [null] : [];
  });
  return [...new Set(values.map((value) => JSON.stringify(value)))].map((text) => ({ text, about: "" }));
}

/** Return a schema that names values for a key, wherever it is. */
export function withValues(schema: JsonSchema, key: string, values: readonly unknown[]): JsonSchema {
  return JSON.parse(JSON.stringify(schema), (name, value: unknown) => (name === key ? { ...objectOf(value), enum: values } : value)) as JsonSchema;
}

function schemasAt(root: JsonSchema, path: readonly (string | number)[]): JsonSchema[] {
  let found = alternatives(root, root);
  for (const step of path) {
    const below = found.flatMap((one) => {
      if (typeof step === "number") return one.items ? [one.items as JsonSchema] : [];
      const own = objectOf(one.properties)[step];
      if (own) return [own as JsonSchema];
      return typeof one.additionalProperties === "object" ? [one.additionalProperties as JsonSchema] : [];
    });
    found = below.flatMap((one) => alternatives(root, one)).slice(0, MOST_ALTERNATIVES);
  }
  return found;
}

/** Follow references and unfold choices. A schema that refers to itself is unfolded once. */
function alternatives(root: JsonSchema, schema: JsonSchema, seen: Set<JsonSchema> = new Set()): JsonSchema[] {
  if (typeof schema !== "object" || schema === null || seen.has(schema)) return [];
  seen.add(schema);
  const target = typeof schema.$ref === "string" ? pointed(root, schema.$ref) : undefined;
  const choices = ["anyOf", "oneOf", "allOf"].flatMap((keyword) => (Array.isArray(schema[keyword]) ? (schema[keyword] as JsonSchema[]) : []));
  return [schema, ...(target ? [target] : []), ...choices].flatMap((one) => (one === schema ? [one] : alternatives(root, one, seen)));
}

function pointed(root: JsonSchema, reference: string): JsonSchema | undefined {
  if (!reference.startsWith("#/")) return undefined;
  const parts = reference.slice(2).split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  return parts.reduce<unknown>((at, part) => objectOf(at)[part], root) as JsonSchema | undefined;
}

function aboutOf(root: JsonSchema, schema: JsonSchema): string {
  const found = alternatives(root, schema).find((one) => typeof one.description === "string");
  return (found?.description as string | undefined) ?? "";
}

function objectOf(value: unknown): { [name: string]: unknown } {
  return typeof value === "object" && value !== null ? (value as { [name: string]: unknown }) : {};
}
