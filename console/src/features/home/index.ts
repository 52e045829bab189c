import { defineFeature } from "@/shared/feature";
import messages from "./messages";

export default defineFeature({
  id: "home",
  capability: "runs",
  messages,
  routes: [{ path: "/", name: "home", component: () => import("./HomePage.vue") }],
  menu: { to: "home", label: "title", icon: "home", order: 0, scope: "runs:read", key: "o" },
});
