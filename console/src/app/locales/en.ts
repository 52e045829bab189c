import texts from "@/app/messages/en";
import { gather } from "@/app/locales/gather";

export default gather(texts, import.meta.glob("../../features/*/messages/en.ts", { eager: true, import: "default" }));
