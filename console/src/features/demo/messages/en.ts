export default {
  title: "Try it with the demo shop",
  text: "A small shop runs on this server. Some of its pages refuse, fail or are slow: see how a run names the causes and what helps.",
  trouble: "Start the run with problems",
  shop: "Crawl the whole shop",
};
