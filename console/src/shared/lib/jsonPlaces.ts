/** Where the values of a JSON text stand; also of a text that is not valid to its end. */

export interface Place {
  from: number;
  to: number;
}
interface Value extends Place {
  keys?: Map<string, { key: Place; value: Value }>;
  items?: Value[];
}
export interface Places {
  root: Value | null;
  /** Where the text stops being JSON. */
  error: number | null;
}
export interface Cursor {
  path: (string | number)[];
  kind: "key" | "value";
  /** Where the token at the cursor begins. */
  from: number;
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const MOST_DEPTH = 400;

class Stop extends Error {}

/** Return the places of all values up to the first mistake. */
export function readPlaces(text: string): Places {
  const reader = new Reader(text);
  try {
    reader.document();
    return { root: reader.root, error: null };
  } catch (error) {
    if (error instanceof Stop) return { root: reader.root, error: reader.at };
    throw error;
  }
}

class Reader {
  at = 0;
  root: Value | null = null;

  constructor(private readonly text: string) {}

  document(): void {
    this.value(0, (value) => (this.root = value));
    this.space();
    if (this.at < this.text.length) throw new Stop();
  }

  /** A value is placed before its content is read, so that it stays if its content is wrong. */
  private value(depth: number, place: (value: Value) => void): void {
    this.space();
    const value: Value = { from: this.at, to: this.text.length };
    const first = this.text[this.at];
    if (first === undefined || depth > MOST_DEPTH) throw new Stop();
    place(value);
    if (first === "{") this.object(value, depth);
    else if (first === "[") this.array(value, depth);
    else if (first === '"') this.string();
    else if (!this.match(NUMBER) && !this.match(WORD)) throw new Stop();
    value.to = this.at;
  }

  private object(value: Value, depth: number): void {
    const keys = (value.keys = new Map());
    this.at++;
    if (this.takes("}")) return;
    do {
      this.space();
      if (this.text[this.at] !== '"') throw new Stop();
      const key = { from: this.at, to: this.at };
      const name = this.string();
      key.to = this.at;
      if (!this.takes(":")) throw new Stop();
      this.value(depth + 1, (found) => keys.set(name, { key, value: found }));
    } while (this.takes(","));
    if (!this.takes("}")) throw new Stop();
  }

  private array(value: Value, depth: number): void {
    const items: Value[] = (value.items = []);
    this.at++;
    if (this.takes("]")) return;
    do this.value(depth + 1, (found) => items.push(found));
    while (this.takes(","));
    if (!this.takes("]")) throw new Stop();
  }

  private string(): string {
    const from = this.at++;
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code === 34) break;
      if (Number.isNaN(code) || code < 32) throw new Stop();
      if (code !== 92) this.at++;
      else if (!this.match(ESCAPE)) throw new Stop();
    }
    this.at++;
    return JSON.parse(this.text.slice(from, this.at)) as string;
  }

  private takes(sign: string): boolean {
    this.space();
    if (this.text[this.at] !== sign) return false;
    this.at++;
    return true;
  }

  private match(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.text)) return false;
    this.at = pattern.lastIndex;
    return true;
  }

  private space(): void {
    while (" \t\r\n".includes(this.text[this.at] ?? "x")) this.at++;
  }
}

/**
 * Return the place of a path as the server writes it (`selectors.fields.price`, `entry_urls[0]`), or of the nearest
 * value above it. It begins with the key; of a value with content it is the key
 * alone.
 */
export function placeOf({ root }: Places, path: string): Place {
  if (!root) return { from: 0, to: 0 };
  let value = root;
  let key: Place = { from: root.from, to: root.from + 1 };
  for (let rest = path; rest; ) {
    const next = stepInto(value, rest);
    if (!next) break;
    ({ value, key, rest } = next);
  }
  return { from: key.from, to: value.keys || value.items ? key.to : value.to };
}

function stepInto(value: Value, rest: string): { value: Value; key: Place; rest: string } | null {
  const number = /^\[(\d+)\]\.?/.exec(rest);
  const item = number && value.items?.[Number(number[1])];
  if (item) return { value: item, key: { from: item.from, to: item.from + 1 }, rest: rest.slice(number[0].length) };
  // A key may hold dots and brackets itself: the longest that fits is meant.
  const fits = (name: string) => name && rest.startsWith(name) && [undefined, ".", "["].includes(rest[name.length]);
  const name = [...(value.keys?.keys() ?? [])].filter(fits).sort((a, b) => b.length - a.length)[0];
  const found = name === undefined ? undefined : value.keys?.get(name);
  if (name === undefined || !found) return null;
  const after = rest.slice(name.length);
  return { value: found.value, key: found.key, rest: after.startsWith(".") ? after.slice(1) : after };
}

/** Return the line of an offset, from 1. */
export function lineOf(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", at + 1)) line++;
  return line;
}

interface Open {
  isArray: boolean;
  key: string | null;
  isValue: boolean;
  index: number;
}

/** Return the path of the object or array in which an offset stands, and what belongs there. */
export function cursorAt(text: string, offset: number): Cursor | null {
  const open: Open[] = [];
  let from = offset;
  for (let at = 0; at < offset; at++) {
    const sign = text[at]!;
    const top = open.at(-1);
    from = offset;
    if (sign === '"') {
      const end = endOfString(text, at);
      if (end > offset) return cursorOf(open, at);
      if (top && !top.isArray && !top.isValue) top.key = nameOf(text.slice(at, end));
      at = end - 1;
    } else if (sign === "{" || sign === "[") open.push({ isArray: sign === "[", key: null, isValue: false, index: 0 });
    else if (sign === "}" || sign === "]") open.pop();
    else if (sign === ":" && top) top.isValue = true;
    else if (sign === "," && top) Object.assign(top, { key: null, isValue: false, index: top.index + 1 });
    else if (/[\w.+-]/.test(sign)) {
      from = at;
      while (at + 1 < offset && /[\w.+-]/.test(text[at + 1]!)) at++;
    }
  }
  return cursorOf(open, from);
}

function cursorOf(open: readonly Open[], from: number): Cursor | null {
  const top = open.at(-1);
  if (!top) return null;
  const isKey = !top.isArray && !top.isValue;
  const path = open.map((one) => (one.isArray ? one.index : (one.key ?? "")));
  return { path: isKey ? path.slice(0, -1) : path, kind: isKey ? "key" : "value", from };
}

function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === '"') return at + 1;
    // A string never goes over the end of its line.
    else if (text[at] === "\n") return at + 1;
  }
  return text.length + 1;
}

function nameOf(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return "";
  }
}
