import { defineFeature } from "@/shared/feature";

export default defineFeature({
  id: "proxies",
  capability: "proxies",
  routes: [{ path: "/proxies", name: "proxies", component: () => import("./ProxiesPage.vue"), meta: { scope: "proxies:read" } }],
  menu: { to: "proxies", label: "title", icon: "proxies", order: 65, scope: "proxies:read", key: "p" },
});
