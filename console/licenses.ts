import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Plugin } from "vite";

const LICENSE = /^(licen[cs]e|copying|notice)/i;

interface Package {
  name: string;
  version: string;
  license: string;
  folder: string;
}

/** Write the licences of all packages that the bundle contains to one file. */
export function licenses(fileName: string): Plugin {
  return {
    name: "licenses",
    apply: "build",
    generateBundle(_options, bundle) {
      const found = new Map<string, Package>();
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== "chunk") continue;
        for (const id of chunk.moduleIds) {
          const used = packageOf(id);
          if (used) found.set(`${used.name} ${used.version}`, used);
        }
      }
      const texts = [...found.keys()].sort().map((key) => licenseText(found.get(key)!));
      this.emitFile({ type: "asset", fileName, source: texts.join("\n\n") + "\n" });
    },
  };
}

function packageOf(id: string): Package | undefined {
  const file = id.replace(/^\0/, "").replace(/\?.*$/, "");
  if (!file.includes("/node_modules/")) return undefined;
  for (let folder = dirname(file); folder.includes("/node_modules/"); folder = dirname(folder)) {
    const manifest = join(folder, "package.json");
    if (!existsSync(manifest)) continue;
    const { name, version, license } = JSON.parse(readFileSync(manifest, "utf8"));
    if (name && version) return { name, version, license: license ?? "see below", folder };
  }
  return undefined;
}

function licenseText({ name, version, license, folder }: Package): string {
  const files = readdirSync(folder).filter((file) => LICENSE.test(file)).sort();
  const texts = files.map((file) => readFileSync(join(folder, file), "utf8").trim());
  return [`${name} ${version} (${license})`, ...texts].join("\n\n");
}
