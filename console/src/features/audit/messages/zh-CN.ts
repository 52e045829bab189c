export default {
  title: "审计",
  none: "没有匹配的记录。",
  clear: "清除筛选",
  refresh: "加载新记录",
  filter: { actor: "操作者", action: "操作", subject: "对象", since: "起始时间" },
  since: { all: "最初", "1h": "一小时前", "24h": "一天前", "7d": "7 天前", "30d": "30 天前" },
  column: { id: "记录", at: "时间", actor: "操作者", action: "操作", subject: "对象", detail: "详情" },
  verify: {
    button: "校验",
    busy: "正在读取整个日志。",
    intact: "审计日志完整：{entries} 条记录，没有被修改、删除或插入。",
    broken: "审计日志已损坏：{reason}。之前的 {entries} 条记录完整。",
    head: "最后一条记录的哈希",
  },
  drawer: { title: "记录 {id}", previous: "前一条记录的哈希", hash: "本条哈希", open: "打开", by: "{actor} 的所有操作", about: "关于 {subject} 的所有记录" },
};
