import { createHash } from "node:crypto";
import type { ServedFile } from "./viewer-files.ts";

/** Stately's inspector: an online page, which is told what our socket tells. */
const INSPECTOR = "https://stately.ai";

/** A page that loads slowly has answered by then. */
const LONGEST_SILENCE_MS = 6000;

/** A page that hands our messages to Stately's inspector in a frame; that inspector takes them by `postMessage` only. */
export function statelyPage(token: string): ServedFile {
  const script = `
const frame = document.querySelector("iframe");
const waiting = [];
let ready = false;
const quiet = document.querySelector("#quiet");
setTimeout(() => { quiet.hidden = ready; }, navigator.onLine ? ${LONGEST_SILENCE_MS} : 0);
addEventListener("message", (event) => {
  if (event.origin !== ${JSON.stringify(INSPECTOR)} || event.data?.type !== "@statelyai.connected") return;
  ready = true;
  quiet.hidden = true;
  for (const message of waiting.splice(0)) frame.contentWindow.postMessage(message, ${JSON.stringify(INSPECTOR)});
});
const socket = new WebSocket("ws://" + location.host + "/inspect?token=${token}");
socket.onmessage = ({ data }) => {
  const message = JSON.parse(data);
  if (ready) frame.contentWindow.postMessage(message, ${JSON.stringify(INSPECTOR)});
  else waiting.push(message);
};`;
  const hash = createHash("sha256").update(script).digest("base64");
  return {
    type: "text/html; charset=utf-8",
    policy: `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; connect-src 'self'; frame-src ${INSPECTOR}; img-src data:; frame-ancestors 'none'`,
    body: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Memory lanes in Stately's inspector (online)</title>
<link rel="icon" href="data:,">
<style>
html, body { height: 100%; margin: 0; font: 13px system-ui, sans-serif; }
body { display: flex; flex-direction: column; }
p { margin: 0; padding: 6px 10px; background: #fff4d6; color: #4a3500; }
#quiet { background: #fbe3e1; color: #6b1510; }
[hidden] { display: none; }
iframe { flex: 1; border: 0; }
</style>
</head>
<body>
<p>This frame is stately.ai, an online page. It is told the lanes' names, states, clocks and ids; no text of the conversation.</p>
<p id="quiet" role="status" hidden>stately.ai does not answer: this machine has no network, or something keeps the page out. The frame below stays empty
until it does. <a href="/?token=${token}">The local page</a> shows the same lanes and needs no network.</p>
<iframe src="${INSPECTOR}/inspect" title="Stately inspector"></iframe>
<script>${script}</script>
</body>
</html>`,
  };
}
