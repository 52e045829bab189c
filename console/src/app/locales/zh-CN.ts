import texts from "@/app/messages/zh-CN";
import { gather } from "@/app/locales/gather";

export default gather(texts, import.meta.glob("../../features/*/messages/zh-CN.ts", { eager: true, import: "default" }));
