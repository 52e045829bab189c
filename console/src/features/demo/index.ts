import { defineFeature } from "@/shared/feature";

export default defineFeature({
  id: "demo",
  capability: "demo",
  firstSteps: [{ id: "start", label: "title", order: 0, component: () => import("./DemoStart.vue") }],
});
