import { defineFeature } from "@/shared/feature";
import messages from "./messages";

export default defineFeature({
  id: "schedules",
  capability: "schedules",
  messages,
  routes: [{ path: "/schedules", name: "schedules", component: () => import("./SchedulesPage.vue") }],
  menu: { to: "schedules", label: "title", icon: "schedules", order: 50, scope: "schedules:read", key: "c" },
});
