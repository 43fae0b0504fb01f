import type { AnyActor, InspectionEvent } from "xstate";
import type { EngineEvent } from "../reducers/engine/events.ts";

/** Version of `@statelyai/inspect` whose event protocol this speaks. */
const PROTOCOL = "0.7.2";

interface MessageBase {
  /** The session id of the scheduler, the root of the lanes */
  rootId: string;
  /** The actor that the message is about */
  sessionId: string;
  /** Event time in milliseconds since the epoch */
  createdAt: string;
  id: string;
  _version: string;
  /** Our addition: the engine event that caused it */
  seq: number | null;
  at: string | null;
}

/** A message of the `@statelyai/inspect` protocol, stripped of content. */
export type InspectorMessage = MessageBase &
  (
    | {
        type: "@xstate.actor";
        name: string;
        parentId: string | undefined;
        definition: string | undefined;
        snapshot: StrippedSnapshot;
      }
    | { type: "@xstate.event"; sourceId: string | undefined; event: StrippedEvent }
    | { type: "@xstate.snapshot"; event: StrippedEvent; snapshot: StrippedSnapshot }
  );

export interface StrippedSnapshot {
  status: string;
  value: unknown;
  /** Numbers, ids and switches only */
  context: Readonly<Record<string, unknown>>;
}

export type StrippedEvent = { type: string } & Readonly<Record<string, unknown>>;

/** Turns what XState's inspection tells of the scheduler and the lanes into messages for any receiver. */
export interface InspectorFeed {
  /** Takes what an engine's `watch` tells; synchronous. Gives the message, or nothing for what receivers do not know. */
  observe(message: InspectionEvent, cause: EngineEvent | undefined): InspectorMessage | undefined;
  /** A snapshot of every actor that was told of, for who comes late and has heard none. */
  latest(): InspectorMessage[];
}

export function createInspectorFeed(): InspectorFeed {
  const actors = new Map<string, AnyActor>();
  let count = 0;
  let rootId = "";

  function baseOf(actor: AnyActor, cause: EngineEvent | undefined): MessageBase {
    // The engine starts each lane as an actor of its own; to who looks they are the scheduler's.
    if (actor.id === ROOT) rootId = actor.sessionId;
    return {
      rootId: rootId === "" ? actor.sessionId : rootId,
      sessionId: actor.sessionId,
      createdAt: String(cause ? Date.parse(cause.at) : Date.now()),
      id: String(++count),
      _version: PROTOCOL,
      seq: cause?.seq ?? null,
      at: cause?.at ?? null,
    };
  }

  return {
    observe(message, cause) {
      const actor = message.actorRef as AnyActor;
      const isRoot = actor.id === ROOT;
      switch (message.type) {
        case "@xstate.actor":
          actors.set(actor.sessionId, actor);
          return {
            type: "@xstate.actor",
            ...baseOf(actor, cause),
            name: actor.id,
            parentId: isRoot || rootId === "" ? undefined : rootId,
            definition: definitionOf(actor),
            snapshot: stripSnapshot(actor.getSnapshot()),
          };
        case "@xstate.event":
          return {
            type: "@xstate.event",
            ...baseOf(actor, cause),
            sourceId: isRoot || rootId === "" ? undefined : rootId,
            event: stripEvent(message.event),
          };
        case "@xstate.snapshot":
          return {
            type: "@xstate.snapshot",
            ...baseOf(actor, cause),
            event: stripEvent(message.event),
            snapshot: stripSnapshot(message.snapshot),
          };
        default:
          return undefined;
      }
    },
    latest: () =>
      [...actors.values()].map((actor) => ({
        type: "@xstate.snapshot",
        ...baseOf(actor, undefined),
        event: { type: "@xstate.init" },
        snapshot: stripSnapshot(actor.getSnapshot()),
      })),
  };
}

const ROOT = "scheduler";

/** A machine's own configuration as JSON, its functions by name, as the protocol has it. */
function definitionOf(actor: AnyActor): string | undefined {
  const config: unknown = (actor.logic as { config?: unknown }).config;
  if (typeof config !== "object" || config === null) return undefined;
  return JSON.stringify(config, (_key, value: unknown) =>
    typeof value === "function" ? { type: value.name } : value,
  );
}

function stripSnapshot(snapshot: unknown): StrippedSnapshot {
  const { status, value, context } = snapshot as { status: string; value?: unknown; context?: unknown };
  return { status, value, context: plainFields(context) };
}

/** An event with its input, and of a result only what a lane decides by. */
function stripEvent(event: { type: string; input?: unknown; result?: unknown }): StrippedEvent {
  const { type, input, result } = event;
  return {
    ...plainFields(event),
    type,
    ...(input !== undefined && { input: plainFields(input) }),
    ...(result !== undefined && {
      result: only(result, ["runId", "worker", "outcome", "coversUpToId", "records"]),
    }),
  };
}

function only(value: unknown, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(plainFields(value)).filter(([name]) => names.includes(name)));
}

const LONGEST_ID = 64;

/** The fields that are clocks, switches and ids. No text of a conversation is that short and without a space. */
function plainFields(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(Object.entries(value).filter(([, field]) => isPlain(field)));
}

function isPlain(field: unknown): boolean {
  if (typeof field === "string") return field.length <= LONGEST_ID && !/\s/.test(field);
  return typeof field === "number" || typeof field === "boolean" || field === null;
}
