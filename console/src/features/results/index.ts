import { defineFeature } from "@/shared/feature";

export default defineFeature({
  id: "results",
  capability: "results",
  routes: [{ path: "/results", name: "results", component: () => import("./ResultsPage.vue") }],
  menu: { to: "results", label: "title", icon: "results", order: 25, scope: "results:read", key: "d" },
});
