import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

/** Another extension, for tests: it throws at whatever Memory Lanes tells, spoils the payload, and asks for odd waits. */
export default function eventThrower(pi: ExtensionAPI): void {
  for (const name of ["compaction-pending", "folded", "recorded"]) {
    pi.events.on(`memory-lanes:${name}`, (payload) => {
      for (const key of Object.keys(payload as object)) Reflect.deleteProperty(payload as object, key);
      throw new Error(`no ${name}`);
    });
  }
  pi.on("turn_end", () => {
    for (const request of [
      undefined,
      null,
      "now",
      Object.freeze({}),
      { idle: Promise.reject(new Error("no")) },
    ])
      pi.events.emit("memory-lanes:when-idle", request);
  });
}
