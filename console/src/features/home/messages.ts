export default {
  en: {
    title: "Home",
    runs: "Newest runs",
    empty: "No run has been started yet.",
    column: { task: "Task", state: "State", pages: "Pages", failed: "Failed", items: "Items", started: "Started", duration: "Duration" },
  },
  "zh-CN": {
    title: "首页",
    runs: "最近的运行",
    empty: "还没有启动过任何运行。",
    column: { task: "任务", state: "状态", pages: "页面", failed: "失败", items: "条目", started: "开始", duration: "时长" },
  },
};
