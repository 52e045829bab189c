import { defineFeature } from "@/shared/feature";

export default defineFeature({
  id: "logs",
  capability: "logs",
  routes: [{ path: "/logs", name: "logs", component: () => import("./LogsPage.vue") }],
  menu: { to: "logs", label: "title", icon: "logs", order: 40, scope: "logs:read", key: "l" },
});
