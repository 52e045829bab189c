import { defineFeature } from "@/shared/feature";

export default defineFeature({
  id: "schedules",
  capability: "schedules",
  routes: [{ path: "/schedules", name: "schedules", component: () => import("./SchedulesPage.vue") }],
  menu: { to: "schedules", label: "title", icon: "schedules", order: 50, scope: "schedules:read", key: "c" },
});
