export default {
  title: "Audit",
  none: "No entry matches.",
  clear: "Clear filters",
  refresh: "Load new entries",
  filter: { actor: "Who", action: "Action", subject: "About", since: "Since" },
  since: { all: "the beginning", "1h": "an hour ago", "24h": "a day ago", "7d": "7 days ago", "30d": "30 days ago" },
  column: { id: "Entry", at: "When", actor: "Who", action: "Action", subject: "About", detail: "Details" },
  verify: {
    button: "Verify",
    busy: "The whole log is read.",
    intact: "The audit log is intact: {entries} entries, none changed, removed or inserted.",
    broken: "The audit log is broken: {reason}. The {entries} entries before it are intact.",
    head: "Hash of the last entry",
  },
  drawer: { title: "Entry {id}", previous: "Hash of the entry before", hash: "Its hash", open: "Open", by: "All by {actor}", about: "All about {subject}" },
};
