import { createInspectorFeed } from "../../../effects/inspector-feed.ts";
import type { Engine } from "../../../machines/engine.ts";
import type { MessageWriter } from "./inspect-source.ts";

/** Tells a receiver of the actors of an engine, then of all that they get and do. Gives what ends it. */
export function watchEngine(engine: Engine, writer: MessageWriter): () => void {
  const feed = createInspectorFeed();
  const stop = engine.watch((message, cause) => {
    const told = feed.observe(message, cause);
    // A receiver that does not keep up loses messages rather than make Pi pay for them.
    if (told && !writer.isFull()) writer.send(told);
  });
  for (const told of feed.latest()) writer.send(told);
  return stop;
}
