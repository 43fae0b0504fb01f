import { stateStyle } from "../state-style.ts";
import { LANES, moveView, timelineWidth, view, whole, wholeRange } from "../store.ts";
import { LaneHistogram } from "./histogram.tsx";
import { GUTTER } from "./scale.ts";

const ROW = 5;

/** The whole time line in small, with the part that is shown; only while it is zoomed in. */
export function Minimap() {
  const shown = view.value;
  const all = whole.value;
  if (!shown || !all) return null;
  const [first, last] = wholeRange();
  const pixel = (x: number) => GUTTER.left + ((x - first) / (last - first)) * timelineWidth.value;
  const height = LANES.length * ROW;
  const left = pixel(shown[0]);
  const width = Math.max(4, pixel(shown[1]) - left);
  const move = (event: PointerEvent) => {
    if ((event.buttons & 1) === 0) return;
    event.stopPropagation();
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const at = (event.clientX - box.left - GUTTER.left) / timelineWidth.value;
    moveView(first + at * (last - first));
  };
  return (
    <div
      class="minimap"
      title="The whole time line; drag to move what is shown"
      onPointerDown={move}
      onPointerMove={move}
    >
      <svg
        width="100%"
        height={height}
        role="img"
        aria-label="The whole time line, with the part that is shown"
      >
        {LANES.map((lane, row) =>
          all.histogram ? (
            <LaneHistogram
              key={lane}
              lane={lane}
              histogram={all.histogram}
              place={{ left: GUTTER.left, top: row * ROW, height: ROW - 1, below: 0 }}
            />
          ) : (
            all.lanes[lane].map(([x0, x1, state]) => (
              <g key={x0} class="span" style={stateStyle(state)}>
                <rect
                  x={pixel(x0)}
                  y={row * ROW}
                  width={Math.max(0.75, pixel(x1) - pixel(x0))}
                  height={ROW - 1}
                />
              </g>
            ))
          ),
        )}
        <rect class="window" x={left} y={0.5} width={width} height={height - 1} />
      </svg>
    </div>
  );
}
