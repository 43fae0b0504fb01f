import { render } from "preact";
import { App } from "./app.tsx";
import { onKey } from "./keys.ts";
import { start } from "./store.ts";

render(<App />, document.body);
addEventListener("keydown", onKey);
void start();
