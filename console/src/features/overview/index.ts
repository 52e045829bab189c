import { defineFeature } from "@/shared/feature";

export default defineFeature({
  id: "overview",
  capability: "runs",
  routes: [{ path: "/", name: "overview", component: () => import("./OverviewPage.vue") }],
  menu: { to: "overview", label: "title", icon: "overview", order: 0, scope: "runs:read", key: "o" },
});
