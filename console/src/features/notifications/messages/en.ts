export default {
  title: "Notifications",
  new: "New notification",
  none: "Nobody is notified of anything yet.",
  enabled: "on",
  paused: "paused",
  allTasks: "all tasks",
  notYours: "It belongs to {owner}. Only they and admins may change it.",
  kind: { webhook: "Webhook", email: "Email", slack: "Slack" },
  column: { kind: "Way", address: "To", events: "Events", task: "Task", state: "State", by: "Created by" },
  event: {
    cookies: { invalid: "cookies signed out" },
    run: { finished: "run finished", failed: "run failed", paused: "run paused", few_rows: "far fewer rows than usual" },
    store: { full: "store is full", returned: "store has space again" },
  },
  action: { create: "Create", save: "Save", edit: "Change", pause: "Pause", resume: "Resume", test: "Send a test", delete: "Delete", older: "Show older ones" },
  done: { pause: "The notification is paused.", resume: "The notification is on.", change: "The notification is changed.", delete: "The notification is deleted.", create: "The notification is created." },
  form: {
    create: "New notification", edit: "Change notification", kind: "Way", url: "URL", email: "Email address", example: "For example {example}",
    keep: "Leave it empty to keep {address}", events: "Events", task: "Task", taskHelp: "Leave it empty for all tasks.",
  },
  secret: { title: "The signing secret", label: "Secret", text: "Messages to this webhook are signed with it; the receiver checks the signature." },
  test: { delivered: "The test was delivered.", failed: "The test was not delivered: {error}" },
  delete: { title: "Delete this notification?", text: "{kind} to {address}. The list of its deliveries is lost, and what waits is not sent." },
  deliveries: {
    title: "Deliveries", none: "Nothing was sent yet.", tries: "attempts: {count}", next: "next attempt",
    state: { waiting: "waits", delivered: "delivered", given_up: "given up" },
  },
};
