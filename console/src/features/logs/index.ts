import { defineFeature } from "@/shared/feature";
import messages from "./messages";

export default defineFeature({
  id: "logs",
  capability: "logs",
  messages,
  routes: [{ path: "/logs", name: "logs", component: () => import("./LogsPage.vue") }],
  menu: { to: "logs", label: "title", icon: "logs", order: 40, scope: "logs:read", key: "l" },
});
