import { defineFeature } from "@/shared/feature";

export default defineFeature({
  id: "runs",
  capability: "runs",
  routes: [
    { path: "/runs", name: "runs", component: () => import("./RunsPage.vue") },
    { path: "/runs/:id", name: "runs.run", component: () => import("./RunPage.vue"), props: true },
  ],
  menu: { to: "runs", label: "title", icon: "runs", order: 20, scope: "runs:read", key: "r" },
});
