import { defineFeature } from "@/shared/feature";

export default defineFeature({
  id: "nodes",
  capability: "nodes",
  routes: [{ path: "/nodes", name: "nodes", component: () => import("./NodesPage.vue") }],
  menu: { to: "nodes", label: "title", icon: "nodes", order: 60, scope: "nodes:read", key: "m" },
});
