/** Draws outcomes with uPlot, which is loaded when the first chart is drawn. */
import type uPlot from "uplot";
import { OUTCOMES, type OutcomeMarker, type OutcomePoint } from "@/shared/components/OutcomeChart.vue";
import { formatNumber } from "@/shared/lib/format";
import { preferences } from "@/shared/lib/preferences";

/** Courses shorter than this show seconds. */
const SHORT_MS = 300_000;
type Select = (from: number, to: number) => void;

/** Return a colour of the theme as a value that a canvas understands. */
function colour(element: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  element.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** Columns of running sums, the highest first: each bar is drawn over the taller one behind it. */
export function stack(points: readonly OutcomePoint[]): number[][] {
  const sums: number[][] = [];
  let below = points.map(() => 0);
  for (const outcome of OUTCOMES) {
    below = points.map((point, place) => below[place]! + point[outcome]);
    sums.unshift(below);
  }
  return sums;
}

export async function drawOutcomes(
  element: HTMLElement,
  points: readonly OutcomePoint[],
  markers: readonly OutcomeMarker[],
  height: number,
  onSelect: Select,
): Promise<uPlot> {
  const [{ default: Plot }] = await Promise.all([import("uplot"), import("uplot/dist/uPlot.min.css")]);
  const bars = Plot.paths.bars!({ size: [0.9, 24], gap: 1 });
  const tops = [...OUTCOMES].reverse();
  const axis = { stroke: colour(element, "--muted"), grid: { stroke: colour(element, "--line"), width: 1 }, ticks: { show: false } };
  const span = points.length ? points.at(-1)!.at - points[0]!.at : 0;
  const time = new Intl.DateTimeFormat(preferences.locale, { timeStyle: span < SHORT_MS ? "medium" : "short" });
  const accent = colour(element, "--accent");
  // Bars stand on the middle of their interval: the first and the last need room.
  const half = points.length > 1 ? (points[1]!.at - points[0]!.at) / 2000 : 30;
  const options: uPlot.Options = {
    width: element.clientWidth || 300,
    height,
    legend: { show: false },
    cursor: { y: false, drag: { x: true, y: false, setScale: false } },
    scales: { x: { range: (_plot, least, most) => [least - half, most + half] }, y: { range: (_plot, _least, most) => [0, Math.max(most, 1)] } },
    series: [{}, ...tops.map((outcome) => ({ paths: bars, fill: colour(element, `--series-${outcome}`), width: 0, points: { show: false } }))],
    axes: [
      { ...axis, size: 28, space: 80, values: (_plot, splits) => splits.map((at) => time.format(at * 1000)) },
      { ...axis, size: 48, values: (_plot, splits) => splits.map((value) => formatNumber(value, 1)) },
    ],
    hooks: {
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width > 2) onSelect(plot.posToVal(left, "x") * 1000, plot.posToVal(left + width, "x") * 1000);
        },
      ],
      draw: [(plot) => drawMarkers(plot, markers, accent)],
    },
  };
  return new Plot(options, [points.map((point) => point.at / 1000), ...stack(points)] as uPlot.AlignedData, element);
}

function drawMarkers(plot: uPlot, markers: readonly OutcomeMarker[], stroke: string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = stroke;
  ctx.setLineDash([3, 3]);
  for (const { at } of markers) {
    const x = plot.valToPos(at / 1000, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}
