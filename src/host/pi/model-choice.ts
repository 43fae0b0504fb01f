import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { ModelChoice } from "../../effects/live-session.ts";
import type { Settings } from "../../reducers/settings.ts";

/** A session without a model has one that Pi makes up, of this API. */
const PLACEHOLDER_API = "unknown";

/**
 * The model that workers use: the one of the settings, else the session's. Requests go through Pi's registry, which
 * resolves credentials, headers and custom providers exactly as it does for the session.
 */
export function modelFor(ctx: ExtensionContext, wanted: Settings["model"]): ModelChoice {
  const registry = ctx.modelRegistry;
  const model = wanted ? registry.find(wanted.provider, wanted.id) : ctx.model;
  if (!model || model.api === PLACEHOLDER_API) {
    return {
      problem: wanted
        ? `the model ${wanted.provider}/${wanted.id} of the settings is not known to Pi`
        : "the session has no model",
    };
  }
  return {
    access: { model, stream: (context, options) => registry.streamSimple(model, context, options) },
  };
}

/** `provider/id` of the workers' model, or why there is none. */
export function modelName(choice: ModelChoice): string {
  return "problem" in choice ? choice.problem : `${choice.access.model.provider}/${choice.access.model.id}`;
}
