import { defineFeature } from "@/shared/feature";
import messages from "./messages";

export default defineFeature({
  id: "account",
  capability: "auth",
  messages,
  routes: [{ path: "/account", name: "account", component: () => import("./AccountPage.vue") }],
  menu: { to: "account", label: "title", icon: "account", order: 900, isOfUser: true, key: "a" },
});
