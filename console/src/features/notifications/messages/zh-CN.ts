export default {
  title: "通知",
  new: "新建通知",
  none: "还没有任何通知。",
  enabled: "启用",
  paused: "已暂停",
  allTasks: "所有任务",
  notYours: "它属于 {owner}，只有其本人和管理员可以修改。",
  kind: { webhook: "Webhook", email: "电子邮件", slack: "Slack" },
  column: { kind: "方式", address: "发送到", events: "事件", task: "任务", state: "状态", by: "创建者" },
  event: {
    cookies: { invalid: "Cookie 已失效" },
    run: { finished: "运行完成", failed: "运行失败", paused: "运行暂停", few_rows: "行数远少于平常" },
    store: { full: "存储已满", returned: "存储恢复可写" },
  },
  action: { create: "创建", save: "保存", edit: "修改", pause: "暂停", resume: "继续", test: "发送测试", delete: "删除", older: "显示更早的" },
  done: { pause: "通知已暂停。", resume: "通知已启用。", change: "通知已修改。", delete: "通知已删除。", create: "通知已创建。" },
  form: {
    create: "新建通知", edit: "修改通知", kind: "方式", url: "URL", email: "电子邮件地址", example: "例如 {example}",
    keep: "留空则保留 {address}", events: "事件", task: "任务", taskHelp: "留空表示所有任务。",
  },
  secret: { title: "签名密钥", label: "密钥", text: "发往此 Webhook 的消息用它签名，接收方据此验证签名。" },
  test: { delivered: "测试已送达。", failed: "测试未送达：{error}" },
  delete: { title: "删除此通知？", text: "{kind}，发送到 {address}。其发送记录将丢失，等待中的不再发送。" },
  deliveries: {
    title: "发送记录", none: "还没有发送过。", tries: "尝试次数：{count}", next: "下次尝试",
    state: { waiting: "等待中", delivered: "已送达", given_up: "已放弃" },
  },
};
