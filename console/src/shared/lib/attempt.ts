import { computed, ref } from "vue";
import { errorAt } from "@/api/problem";

/** Work that a form or a button starts: whether it goes on, and the problem if it failed. */
export function useAttempt(fields: readonly string[] = []) {
  const busy = ref("");
  const problem = ref<unknown>(null);
  const at = (field: string) => errorAt(problem.value, field);

  /** Do the work; false if it failed. `name` tells apart what several buttons start. */
  async function attempt(work: () => Promise<unknown>, name = "work"): Promise<boolean> {
    busy.value = name;
    problem.value = null;
    try {
      await work();
      return true;
    } catch (error) {
      problem.value = error;
      return false;
    } finally {
      busy.value = "";
    }
  }

  /** The problem, unless it stands at one of the fields. */
  const rest = computed(() => (fields.some(at) ? null : problem.value));
  return { busy, problem, rest, at, attempt };
}
