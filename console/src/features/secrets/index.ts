import { defineFeature } from "@/shared/feature";

export default defineFeature({
  id: "secrets",
  capability: "secrets",
  routes: [{ path: "/secrets", name: "secrets", component: () => import("./SecretsPage.vue"), meta: { scope: "secrets:read" } }],
  menu: { to: "secrets", label: "title", icon: "key", order: 75, scope: "secrets:read", key: "v" },
});
