/** Names of secrets, and the commands that set them. The commands ask for the value and never contain it. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,99}$/;

/** Return whether tasks can refer to a name. */
export function isName(text: string): boolean {
  return NAME.test(text);
}

/** Return what a task writes for a secret. */
export function referenceTo(name: string): string {
  return `\${${name}}`;
}

/** Return the commands that set a secret on a server. `shared` null: as before. */
export function commandsOf(name: string, shared: boolean | null, origin: string): { cli: string; curl: string; python: string } {
  const reach = { cli: "", curl: "", python: "" };
  if (shared !== null) {
    reach.cli = shared ? " --shared" : " --private";
    reach.curl = `, shared: ${shared}`;
    reach.python = `, shared=${shared ? "True" : "False"}`;
  }
  return {
    cli: `smartspider secret set ${name}${reach.cli} --server ${origin}`,
    curl: `printf %s "$VALUE" | jq -Rs '{value: .${reach.curl}}' | curl -s -X PUT -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" --data-binary @- '${origin}/api/secrets/${name}'`,
    python: `await client.set_secret("${name}", value=getpass.getpass()${reach.python})`,
  };
}
