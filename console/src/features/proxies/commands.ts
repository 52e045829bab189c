/** What is typed about proxies, and the commands that do the same. The commands ask for URLs and never contain one. */
import { shellWord } from "@/shared/lib/copy";

const POOL = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$/;
const MOST_WEIGHT = 1000;

export interface Commands {
  cli: string;
  curl: string;
  python: string;
}

/** Return whether a pool can have a name. */
export function isPool(text: string): boolean {
  return POOL.test(text);
}

/** Return the weight that a text is, or null. */
export function weightOf(text: string): number | null {
  const weight = text.trim() === "" ? NaN : Number(text);
  return weight > 0 && weight <= MOST_WEIGHT ? weight : null;
}

/** Return the lines of a text, each once, without those that are empty. */
export function linesOf(text: string): string[] {
  return [...new Set(text.split("\n").map((line) => line.trim()))].filter(Boolean);
}

/** Return the commands that add a proxy on a server. */
export function commandsToAdd(pool: string, weight: number, origin: string): Commands {
  return {
    cli: `smartspider proxy add - --pool ${pool} --weight ${weight} --server ${origin}`,
    curl: `printf %s "$PROXY" | jq -Rs '{url: ., pool: "${pool}", weight: ${weight}}' | ${post(origin, "")} --data-binary @-`,
    python: `await client.add_proxy(url=getpass.getpass("URL: "), pool="${pool}", weight=${weight})`,
  };
}

/** Return the commands that fetch a page through a proxy of a server. */
export function commandsToCheck(id: string, url: string, origin: string): Commands {
  return {
    cli: `smartspider proxy check ${id} --url ${shellWord(url)} --server ${origin}`,
    curl: `${post(origin, `/${id}/check`)} --data ${shellWord(JSON.stringify({ url }))}`,
    python: `await client.check_proxy("${id}", url=${JSON.stringify(url)})`,
  };
}

function post(origin: string, path: string): string {
  return `curl -s -X POST -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" '${origin}/api/proxies${path}'`;
}
