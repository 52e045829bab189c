import { defineFeature } from "@/shared/feature";

export default defineFeature({
  id: "audit",
  capability: "audit",
  routes: [{ path: "/audit", name: "audit", component: () => import("./AuditPage.vue"), meta: { scope: "audit:read" } }],
  menu: { to: "audit", label: "title", icon: "audit", order: 80, scope: "audit:read", key: "u" },
});
