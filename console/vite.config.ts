import { fileURLToPath } from "node:url";
import vue from "@vitejs/plugin-vue";
import { defineConfig } from "vitest/config";
import { licenses } from "./licenses.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Libraries that every screen needs, in chunks that change only when their versions do. */
const VENDORS = [
  { name: "vue", test: /node_modules\/(@vue|vue|vue-router)\// },
  { name: "i18n", test: /node_modules\/(@intlify|vue-i18n)\// },
  { name: "reka", test: /node_modules\/(reka-ui|@floating-ui|@internationalized|@vueuse|aria-hidden)\//, maxSize: 140_000 },
  { name: "query", test: /node_modules\/@tanstack\/(query|vue-query)/ },
  // Loaded with the editor of task files only.
  { name: "editor-state", test: /node_modules\/(@codemirror\/state|@marijn|style-mod|w3c-keyname|crelt)\// },
  { name: "editor-view", test: /node_modules\/@codemirror\/view\// },
  { name: "editor-language", test: /node_modules\/(@lezer|@codemirror\/(language|lang-json))\// },
  { name: "editor-tools", test: /node_modules\/@codemirror\// },
];

export default defineConfig({
  plugins: [vue(), licenses("third-party-licenses.txt")],
  resolve: { alias: { "@": here("./src") } },
  html: { cspNonce: "{{nonce}}" },
  build: {
    outDir: here("../src/smartspider/console/dist"),
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 150,
    rolldownOptions: { output: { codeSplitting: { groups: VENDORS } } },
  },
  define: {
    __VUE_OPTIONS_API__: "false",
    __VUE_PROD_DEVTOOLS__: "false",
    __VUE_I18N_LEGACY_API__: "false",
    __INTLIFY_PROD_DEVTOOLS__: "false",
  },
  server: { proxy: { "/api": { target: "http://127.0.0.1:8000", ws: true } } },
  test: { environment: "happy-dom", include: ["tests/**/*.test.ts"] },
});
