import { defineFeature } from "@/shared/feature";

export default defineFeature({
  id: "account",
  capability: "auth",
  routes: [{ path: "/account", name: "account", component: () => import("./AccountPage.vue") }],
  menu: { to: "account", label: "title", icon: "account", order: 900, isOfUser: true, key: "a" },
});
