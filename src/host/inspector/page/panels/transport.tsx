import { EVENT_LABELS, grouped, LANE_LABELS, timeOfDay } from "../../../../reducers/words.ts";
import {
  count,
  detail,
  jump,
  LANES,
  magnification,
  playing,
  select,
  selected,
  speed,
  step,
  view,
  zoomHere,
} from "../store.ts";

/** One slider for everything, and the ways to move it. */
export function Transport() {
  const shown = detail.value;
  const where = grouped(shown?.row.number ?? selected.value + 1);
  const time = shown ? timeOfDay(shown.row.at) : "";
  return (
    <section class="transport" aria-label="Move through the events">
      <button type="button" title="Previous event (←)" aria-label="Previous event" onClick={() => step(-1)}>
        ←
      </button>
      <button
        type="button"
        title="Play, pause (Space)"
        aria-label={playing.value ? "Pause" : "Play"}
        onClick={() => {
          playing.value = !playing.value;
        }}
      >
        {playing.value ? "❚❚" : "▶"}
      </button>
      <button type="button" title="Next event (→)" aria-label="Next event" onClick={() => step(1)}>
        →
      </button>
      <input
        type="range"
        aria-label="Selected event"
        aria-valuetext={`#${where}, ${time}`}
        min={0}
        max={Math.max(0, count.value - 1)}
        value={selected.value}
        onInput={(event) => select(event.currentTarget.valueAsNumber)}
      />
      <output class="where" aria-live={playing.value ? "off" : "polite"}>
        #{where} <span class="muted">{time}</span>
        <span class="spoken">
          {shown && ` ${EVENT_LABELS[shown.row.type]} ${shown.row.words} ${shown.row.decision}`}
        </span>
      </output>
      <label class="speed" title="Events a second (+ −)">
        <select
          aria-label="Speed"
          value={speed.value}
          onChange={(event) => {
            speed.value = Number(event.currentTarget.value);
          }}
        >
          {[...new Set([...SPEEDS, speed.value])]
            .sort((a, b) => a - b)
            .map((value) => (
              <option key={value} value={value}>
                {value} /s
              </option>
            ))}
        </select>
      </label>
      <span class="zoom">
        <button
          type="button"
          title="Zoom in (z, the wheel)"
          aria-label="Zoom in"
          onClick={() => zoomHere(0.5)}
        >
          +
        </button>
        <button
          type="button"
          title="Zoom out (x, the wheel)"
          aria-label="Zoom out"
          disabled={view.value === null}
          onClick={() => zoomHere(2)}
        >
          −
        </button>
        {view.value !== null && (
          <button
            type="button"
            class="zoomed"
            title="Show all (a)"
            onClick={() => {
              view.value = null;
            }}
          >
            {times(magnification.value)} · show all
          </button>
        )}
      </span>
      <span class="jumps">
        <span class="muted">change of</span>
        {LANES.map((lane, at) => (
          <span key={lane} class="jump">
            <button
              type="button"
              title={`⇧${at + 1}`}
              aria-label={`Previous change of ${LANE_LABELS[lane]}`}
              onClick={() => jump(lane, -1)}
            >
              ‹
            </button>
            {LANE_LABELS[lane]}
            <button
              type="button"
              title={String(at + 1)}
              aria-label={`Next change of ${LANE_LABELS[lane]}`}
              onClick={() => jump(lane, 1)}
            >
              ›
            </button>
          </span>
        ))}
      </span>
    </section>
  );
}

/** `2×`, `1.5×` */
function times(factor: number): string {
  return `${factor < 10 ? factor.toFixed(1).replace(/\.0$/, "") : grouped(factor)}×`;
}

const SPEEDS = [1, 2, 8, 32, 128, 1024, 8192];
