/** The difference of two texts by lines (Myers). */

export interface DiffLine {
  kind: "same" | "added" | "removed";
  text: string;
}
/** Lines that are shown, or the number of equal ones that are left out. */
export type DiffPart = { lines: DiffLine[] } | { skipped: number };

/** Texts that differ in more lines are shown as removed and added as a whole. */
const MOST_STEPS = 1_000;

/** Return all lines of two texts, each as same, removed or added. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [old, new_] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < old.length && head < new_.length && old[head] === new_[head]) head++;
  let tail = 0;
  while (tail < old.length - head && tail < new_.length - head && old.at(-1 - tail) === new_.at(-1 - tail)) tail++;
  const same = (lines: string[]) => lines.map((text): DiffLine => ({ kind: "same", text }));
  const middle = diffMiddle(old.slice(head, old.length - tail), new_.slice(head, new_.length - tail));
  return [...same(old.slice(0, head)), ...middle, ...same(old.slice(old.length - tail))];
}

/** Return the changed lines with some equal ones around them. */
export function diffParts(lines: readonly DiffLine[], around = 3): DiffPart[] {
  const near = new Uint8Array(lines.length);
  lines.forEach((line, place) => {
    if (line.kind !== "same") near.fill(1, Math.max(0, place - around), place + around + 1);
  });
  const parts: DiffPart[] = [];
  lines.forEach((line, place) => {
    const last = parts.at(-1);
    if (near[place]) {
      if (last && "lines" in last) last.lines.push(line);
      else parts.push({ lines: [line] });
    } else if (last && "skipped" in last) last.skipped++;
    else parts.push({ skipped: 1 });
  });
  return parts;
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function diffMiddle(old: string[], new_: string[]): DiffLine[] {
  const trace = shortestEdit(old, new_);
  if (!trace) return [...old.map((text): DiffLine => ({ kind: "removed", text })), ...new_.map((text): DiffLine => ({ kind: "added", text }))];
  const lines: DiffLine[] = [];
  let [x, y] = [old.length, new_.length];
  for (let step = trace.length - 1; step >= 0; step--) {
    const reached = trace[step]!;
    const k = x - y;
    const isDown = k === -step || (k !== step && at(reached, k - 1) < at(reached, k + 1));
    const from = step === 0 ? 0 : at(reached, isDown ? k + 1 : k - 1);
    const to = step === 0 ? 0 : from - (isDown ? k + 1 : k - 1);
    while (x > from && y > to) {
      lines.push({ kind: "same", text: old[--x]! });
      y--;
    }
    if (step === 0) break;
    if (isDown) lines.push({ kind: "added", text: new_[--y]! });
    else lines.push({ kind: "removed", text: old[--x]! });
  }
  return lines.reverse();
}

/** Return for each step how far each diagonal had come before it; null if the texts differ too much. */
function shortestEdit(old: string[], new_: string[]): Map<number, number>[] | null {
  let reached = new Map<number, number>([[1, 0]]);
  const trace: Map<number, number>[] = [];
  for (let step = 0; step <= Math.min(old.length + new_.length, MOST_STEPS); step++) {
    trace.push(reached);
    const next = new Map(reached);
    for (let k = -step; k <= step; k += 2) {
      let x = k === -step || (k !== step && at(next, k - 1) < at(next, k + 1)) ? at(next, k + 1) : at(next, k - 1) + 1;
      while (x < old.length && x - k < new_.length && old[x] === new_[x - k]) x++;
      next.set(k, x);
      if (x >= old.length && x - k >= new_.length) return trace;
    }
    reached = next;
  }
  return null;
}

function at(reached: Map<number, number>, k: number): number {
  return reached.get(k) ?? -1;
}
