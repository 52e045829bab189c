import { defineFeature } from "@/shared/feature";

export default defineFeature({
  id: "notifications",
  capability: "notifications",
  routes: [{ path: "/notifications", name: "notifications", component: () => import("./NotificationsPage.vue"), meta: { scope: "notifications:read" } }],
  menu: { to: "notifications", label: "title", icon: "notifications", order: 70, scope: "notifications:read", key: "f" },
});
