import { defineFeature } from "@/shared/feature";

export default defineFeature({
  id: "tasks",
  capability: "tasks",
  routes: [
    { path: "/tasks", name: "tasks", component: () => import("./TasksPage.vue") },
    { path: "/tasks/new", name: "tasks.new", component: () => import("./NewTaskPage.vue") },
    { path: "/tasks/:id", name: "tasks.task", component: () => import("./TaskPage.vue"), props: true },
  ],
  menu: { to: "tasks", label: "title", icon: "tasks", order: 10, scope: "tasks:read", key: "t" },
  commands: [{ id: "new", label: "action.new", scope: "tasks:write", to: { name: "tasks.new" }, key: "n" }],
});
