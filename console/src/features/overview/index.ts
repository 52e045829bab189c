import { defineFeature } from "@/shared/feature";
import messages from "./messages";

export default defineFeature({
  id: "overview",
  capability: "runs",
  messages,
  routes: [{ path: "/", name: "overview", component: () => import("./OverviewPage.vue") }],
  menu: { to: "overview", label: "title", icon: "overview", order: 0, scope: "runs:read", key: "o" },
});
