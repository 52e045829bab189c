import { defineFeature } from "@/shared/feature";

export default defineFeature({
  id: "cookies",
  capability: "cookies",
  routes: [{ path: "/cookies", name: "cookies", component: () => import("./CookiesPage.vue"), meta: { scope: "cookies:read" } }],
  menu: { to: "cookies", label: "title", icon: "cookies", order: 67, scope: "cookies:read", key: "k" },
});
