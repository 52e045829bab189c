/** What is written about cookies, and the commands that do the same. The commands read a file and never contain a value. */
import type { Schemas } from "@/api/client";
import { shellWord } from "@/shared/lib/copy";

export type SignedOut = Partial<Schemas["SignedOutRule"]>;

/** What an upload says besides the cookies. What is left out stays as it was. */
export interface Options {
  shared?: boolean;
  limit?: number;
  check_url?: string;
  signed_out?: SignedOut;
}

export interface Commands {
  cli: string;
  curl: string;
  python: string;
}

const MOST_SLOTS = 100;

/** Return the limit that a text is, or null. */
export function limitOf(text: string): number | null {
  const limit = /^\d+$/.test(text.trim()) ? Number(text) : 0;
  return limit >= 1 && limit <= MOST_SLOTS ? limit : null;
}

/** Return the HTTP statuses that a text lists, or null if it lists anything else. */
export function statusesOf(text: string): number[] | null {
  const words = text.split(/[\s,]+/).filter(Boolean);
  return words.every((word) => /^[345]\d\d$/.test(word)) ? words.map(Number) : null;
}

/**
 * Return what cookies are read from in a HAR file: hosts, Cookie and Set-Cookie headers. The pages in it stay here, as
 * do texts that are no HAR file.
 */
export function withoutPages(text: string): string {
  let log: unknown;
  try {
    log = text.trimStart().startsWith("{") ? JSON.parse(text).log : null;
  } catch {
    return text; // the server says what is wrong with it
  }
  const entries = (log as { entries?: unknown } | null | undefined)?.entries;
  if (!Array.isArray(entries)) return text;
  const kept = new Set<string>();
  for (const entry of entries) {
    const sent = headersOf(entry?.request, "cookie");
    const set = headersOf(entry?.response, "set-cookie");
    if (!sent.length && !set.length) continue;
    const one = JSON.stringify({ request: { url: originOf(entry.request?.url), headers: sent }, response: { headers: set } });
    kept.delete(one); // the last one counts
    kept.add(one);
  }
  return `{"log":{"entries":[${[...kept].join(",")}]}}`;
}

function originOf(url: unknown): string {
  try {
    return new URL(String(url)).origin;
  } catch {
    return "";
  }
}

function headersOf(part: { headers?: unknown } | undefined, name: string): unknown[] {
  return Array.isArray(part?.headers) ? part.headers.filter((one) => String(one?.name).toLowerCase() === name) : [];
}

/** Return the commands that upload cookies to a server. */
export function commandsToUpload(domain: string, name: string, options: Options, origin: string): Commands {
  const said = { domain, ...(name ? { name } : {}), ...options };
  const { shared, limit, check_url: checkUrl, signed_out: signedOut } = options;
  const marks = Object.entries(signedOut ?? {}).flatMap(([key, value]) => [value].flat().map((one) => `${key}=${one}`));
  const words = [
    ...["--domain", shellWord(domain)],
    ...(name ? ["--name", shellWord(name)] : []),
    ...(shared === undefined ? [] : [shared ? "--shared" : "--private"]),
    ...(limit === undefined ? [] : ["--limit", String(limit)]),
    ...(checkUrl === undefined ? [] : ["--check-url", shellWord(checkUrl)]),
    ...marks.flatMap((mark) => ["--signed-out", shellWord(mark)]),
  ];
  const values = Object.entries(said).map(([key, value]) => `, ${key}=${typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value)}`);
  return {
    cli: `smartspider cookie upload FILE ${words.join(" ")} --server ${origin}`,
    curl: `jq -Rs --argjson set ${shellWord(JSON.stringify(said))} '$set + {cookies: .}' FILE | ${post(origin, "upload")} --data-binary @-`,
    python: `await client.upload_cookies(cookies=pathlib.Path("FILE").read_text()${values.join("")})`,
  };
}

/** Return the commands that fetch a page with cookies of a server; without a URL the one to check. */
export function commandsToCheck(id: string, url: string, origin: string): Commands {
  return {
    cli: `smartspider cookie check ${id}${url ? ` --url ${shellWord(url)}` : ""} --server ${origin}`,
    curl: `${post(origin, `${id}/check`)} --data ${shellWord(JSON.stringify(url ? { url } : {}))}`,
    python: `await client.check_cookies("${id}"${url ? `, url=${JSON.stringify(url)}` : ""})`,
  };
}

function post(origin: string, path: string): string {
  return `curl -s -X POST -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" '${origin}/api/cookies/${path}'`;
}
