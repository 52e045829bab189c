import { VueQueryPlugin } from "@tanstack/vue-query";
import { createApp } from "vue";
import { startSession } from "@/api/session";
import App from "@/app/App.vue";
import "@/app/tokens.css";
import "@/app/base.css";
import { features } from "@/app/features";
import { createMessages } from "@/app/i18n";
import { applyPreferences } from "@/shared/lib/preferences";
import { createQueries } from "@/app/queries";
import { createPages } from "@/app/router";

applyPreferences();
// The session starts beside the first render; the sign-in link of the fragment is read before the router runs.
void startSession();
void createMessages().then((messages) =>
  createApp(App)
    .use(messages)
    .use(VueQueryPlugin, { queryClient: createQueries() })
    .use(createPages(features))
    .mount("#app"),
);
