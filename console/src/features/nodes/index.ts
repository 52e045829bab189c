import { defineFeature } from "@/shared/feature";
import messages from "./messages";

export default defineFeature({
  id: "nodes",
  capability: "nodes",
  messages,
  routes: [{ path: "/nodes", name: "nodes", component: () => import("./NodesPage.vue") }],
  menu: { to: "nodes", label: "title", icon: "nodes", order: 60, scope: "nodes:read", key: "m" },
});
