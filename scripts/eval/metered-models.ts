import type { Api, AssistantMessage, Context, Model, SimpleStreamOptions } from "@earendil-works/pi-ai";
import { ModelRegistry, ModelRuntime } from "@earendil-works/pi-coding-agent";
import { outputBudget } from "../../src/effects/workers/model/request.ts";
import { UsageError } from "../../src/host/cli/io.ts";

/** What a request is made for. */
export const PURPOSES = ["memory", "answers", "kept", "recall", "grading"] as const;
export type Purpose = (typeof PURPOSES)[number];

/** What requests of one purpose took, in the provider's own tokens and in US dollars. */
export interface Spend {
  requests: number;
  /** Tokens read, those from and for the provider's cache among them */
  input: number;
  /** Of these, read from the cache */
  cacheRead: number;
  output: number;
  /** Null where nothing was asked of a model whose prices are known */
  cost: number | null;
}

/** The part of Pi's registry through which the extension reaches models. */
export type Registry = Pick<ModelRegistry, "find" | "streamSimple">;

export interface MeteredModels {
  /** The model of this name, `provider/id`. Throws a `UsageError` where Pi does not know it, or has no credentials for it. */
  find(name: string): Model<Api>;
  /** Pi's own registry, whose requests are counted under a purpose */
  registry(purpose: Purpose): Registry;
  /** Asks once; retries are Pi's own. Throws with the provider's words when there is no answer. */
  ask(purpose: Purpose, model: Model<Api>, context: Context): Promise<AssistantMessage>;
  readonly spent: Readonly<Record<Purpose, Spend>>;
}

const ASK_TIMEOUT_MS = 300_000;

/** Pi's models, with the credentials and providers that Pi itself would use here, and every request counted. */
export async function openModels(): Promise<MeteredModels> {
  const pi = new ModelRegistry(await ModelRuntime.create());
  const none = (): Spend => ({ requests: 0, input: 0, cacheRead: 0, output: 0, cost: null });
  const spent = { memory: none(), answers: none(), kept: none(), recall: none(), grading: none() };

  function streamFor(
    purpose: Purpose,
    model: Model<Api>,
    context: Context,
    options: SimpleStreamOptions | undefined,
  ) {
    const spend = spent[purpose];
    spend.requests++;
    const stream = pi.streamSimple(model, context, options);
    void stream.result().then(
      ({ usage }) => {
        spend.input += usage.input + usage.cacheRead + usage.cacheWrite;
        spend.cacheRead += usage.cacheRead;
        spend.output += usage.output;
        if (hasPrice(model)) spend.cost = (spend.cost ?? 0) + usage.cost.total;
      },
      // Who asked hears of it.
      () => {},
    );
    return stream;
  }

  return {
    spent,
    find(name) {
      const slash = name.indexOf("/");
      if (slash < 1)
        throw new UsageError(`"${name}": write a model as provider/id, as "pi --list-models" shows them`);
      const model = pi.find(name.slice(0, slash), name.slice(slash + 1));
      if (!model)
        throw new UsageError(
          `Pi does not know the model ${name}; "pi --list-models" shows those that it knows`,
        );
      if (!pi.hasConfiguredAuth(model)) {
        throw new UsageError(
          `Pi has no credentials for ${model.provider}; start pi and use /login, or set its API key`,
        );
      }
      return model;
    },
    registry: (purpose) => ({
      find: (provider, id) => pi.find(provider, id),
      streamSimple: (model, context, options) => streamFor(purpose, model, context, options),
    }),
    async ask(purpose, model, context) {
      const signal = AbortSignal.timeout(ASK_TIMEOUT_MS);
      const options = { signal, maxTokens: outputBudget(model, undefined), maxRetries: 2 };
      const reply = await streamFor(purpose, model, context, options).result();
      if (reply.stopReason === "error" || reply.stopReason === "aborted") {
        throw new Error(reply.errorMessage ?? `the request ended with ${reply.stopReason}`);
      }
      return reply;
    },
  };
}

/** A model without prices costs something all the same; nobody knows how much. */
function hasPrice({ cost }: Model<Api>): boolean {
  return Object.values(cost).some((price) => typeof price === "number" && price > 0);
}
