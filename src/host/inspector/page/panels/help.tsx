import { useEffect, useRef } from "preact/hooks";
import { KEYS } from "../keys.ts";
import { helpShown } from "../store.ts";

/** The keys, and how to read the page. */
export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      class="help"
      aria-label="Keys"
      ref={dialog}
      onClose={() => {
        helpShown.value = false;
      }}
    >
      <div class="help-head">
        <h2>Keys</h2>
        <button type="button" onClick={() => dialog.current?.close()}>
          Close (Esc)
        </button>
      </div>
      <dl>
        {KEYS.map(({ keys, words }) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
      <p class="muted">
        On the time line: click or drag selects, ⇧ and drag selects a stretch, the wheel zooms, ⇧ and the
        wheel moves. Below each lane a line is a run: ● recorded, ○ found nothing, ✕ failed, ◌ stale or
        aborted. Upright lines are compactions.
      </p>
    </dialog>
  );
}
