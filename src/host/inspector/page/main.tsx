import { render } from "preact";
import { App } from "./app.tsx";
import { onKey, onPointerDown } from "./keys.ts";
import { start } from "./store.ts";

render(<App />, document.body);
addEventListener("keydown", onKey);
addEventListener("pointerdown", onPointerDown);
void start();
