import { defineFeature } from "@/shared/feature";

export default defineFeature({
  id: "settings",
  routes: [{ path: "/settings", name: "settings", component: () => import("./SettingsPage.vue") }],
  menu: { to: "settings", label: "title", icon: "settings", order: 90, key: "s" },
});
