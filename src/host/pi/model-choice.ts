import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { ModelChoice } from "../../effects/live-session.ts";
import type { ModelSetting } from "../../reducers/settings.ts";

/** A session without a model has one that Pi makes up, of this API. */
const PLACEHOLDER_API = "unknown";

/**
 * A model that workers use: the one that a setting names, else the session's. Requests go through Pi's registry, which
 * resolves credentials, headers and custom providers exactly as it does for the session.
 */
export function modelFor(ctx: ExtensionContext, wanted: ModelSetting | undefined): ModelChoice {
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
    access: {
      model,
      ...(wanted?.thinking && { thinking: wanted.thinking }),
      stream: (context, options) => registry.streamSimple(model, context, options),
    },
  };
}
