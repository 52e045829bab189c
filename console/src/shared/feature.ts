/** The manifest of a feature: all that the shell knows about a folder in `features/`. */
import type { Component } from "vue";
import type { RouteRecordRaw } from "vue-router";
import type { IconName } from "@/shared/icons";

export type Locale = "en" | "zh-CN";
/** A text, or texts by name. A feature's texts are found as `FEATURE.name`. */
export type Messages = { [name: string]: string | Messages };
/** A right of `GET /api/auth/me`, as `runs:read`. */
export type Scope = `${string}:${"read" | "write"}`;
export type Lazy = () => Promise<{ default: Component }>;

export interface MenuEntry {
  /** Name of a route of the feature. */
  to: string;
  /** Key of the text. */
  label: string;
  /** Name of an icon of `shared/icons.ts`. */
  icon: IconName;
  /** Smaller numbers stand first. */
  order: number;
  /** The menu of the user instead of the rail. */
  isOfUser?: boolean;
  /** The entry shows for callers that have this right. */
  scope?: Scope;
  /** Letter that opens it after `g`. */
  key?: string;
}

export interface Command {
  id: string;
  label: string;
  /** Right that it needs; without it the command is not listed. */
  scope?: Scope;
  /** Route to open, or work to do. */
  to?: { name: string; query?: Record<string, string> };
  run?: () => void | Promise<void>;
  /** Key that does it. */
  key?: string;
}

/** A part that a feature adds to a screen of another: it gets `props` of that screen. */
export interface Part {
  id: string;
  label: string;
  order: number;
  scope?: Scope;
  component: Lazy;
}

/** A kind of entries in the attention list of the overview, with the component that shows their actions. */
export interface AttentionKind {
  kind: string;
  component: Lazy;
}

/** A topic of the live connection; `onMessage` gets its messages. */
export interface LiveTopic {
  topic: string;
  onMessage: (message: unknown) => void;
}

export interface Feature {
  /** Name of the folder; prefix of its texts and names. */
  id: string;
  /** The feature shows if `GET /api/about` lists it; without one it always shows. */
  capability?: string;
  /** Routes with lazy components; their names begin with the id. */
  routes?: RouteRecordRaw[];
  menu?: MenuEntry;
  commands?: Command[];
  cards?: Part[];
  /** What a console without any task offers to begin with. */
  firstSteps?: Part[];
  attention?: AttentionKind[];
  runTabs?: Part[];
  drawerSections?: Part[];
  topics?: LiveTopic[];
}

export function defineFeature(feature: Feature): Feature {
  return feature;
}
