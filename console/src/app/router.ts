import { createRouter, createWebHistory, type RouteRecordRaw, type Router } from "vue-router";
import NotFound from "@/app/NotFound.vue";
import type { Feature } from "@/shared/feature";

/** Return the router with the routes of all features; an unknown address has a page of its own. */
export function createPages(features: Feature[]): Router {
  const routes: RouteRecordRaw[] = features.flatMap((feature) =>
    (feature.routes ?? []).map((route) => ({ ...route, meta: { ...route.meta, feature: feature.id } })),
  );
  routes.push({ path: "/sign-in", redirect: "/" }, { path: "/:path(.*)*", name: "missing", component: NotFound });
  return createRouter({ history: createWebHistory(), routes, scrollBehavior: (_to, _from, saved) => saved ?? {} });
}
