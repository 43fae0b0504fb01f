/**
 * Every name that telemetry bears, in one place. `gen_ai.*`, `error.type` and their values are those of OpenTelemetry's semantic
 * conventions for generative AI; what these have no name for is `memory_lanes.*`. The conventions are in development: a new
 * version of them is taken over here and nowhere else.
 */

/** The versions that the names were taken from: attributes and client metrics, and memory operations with agents' durations. */
export const CONVENTIONS = {
  "semantic-conventions": "1.45.0",
  "semantic-conventions-genai": "0.1.0",
} as const;

export const SCOPE = "pi-memory-lanes";

export const ATTR = {
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  model: "gen_ai.request.model",
  agent: "gen_ai.agent.name",
  conversation: "gen_ai.conversation.id",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cacheReadTokens: "gen_ai.usage.cache_read.input_tokens",
  cacheCreationTokens: "gen_ai.usage.cache_creation.input_tokens",
  tokenType: "gen_ai.token.type",
  memoryRecordId: "gen_ai.memory.record.id",
  memoryRecordCount: "gen_ai.memory.record.count",
  memoryQuery: "gen_ai.memory.query.text",
  memoryRecords: "gen_ai.memory.records",
  errorType: "error.type",
  /** The lane, as `/om:lanes` names it */
  lane: "memory_lanes.lane",
  /** How a run ended */
  outcome: "memory_lanes.run.outcome",
  runId: "memory_lanes.run.id",
  requests: "memory_lanes.run.requests",
  /** Source tokens that a run read */
  sourceTokens: "memory_lanes.run.source_tokens",
  rejected: "memory_lanes.run.records_rejected",
  cost: "memory_lanes.cost",
  /** Whose summary stands after a compaction: `memory`, `pi` or `extension` */
  summaryBy: "memory_lanes.compaction.summary_by",
  /** What asked for it */
  reason: "memory_lanes.compaction.reason",
  freed: "memory_lanes.compaction.tokens_freed",
  /** What was sent afterwards: from a `recording`, or from a `session` file, which tells of runs by their results alone */
  source: "memory_lanes.source",
  /** Likewise: a model of the workers made the result up, for want of one in the session file. */
  modelled: "memory_lanes.modelled",
} as const;

export const OPERATION = {
  chat: "chat",
  invokeAgent: "invoke_agent",
  searchMemory: "search_memory",
} as const;

export const TOKEN_TYPE = { input: "input", output: "output" } as const;

/** Spans that the conventions have no name for */
export const SPAN = { compaction: "memory_lanes.compaction" } as const;

interface Instrument {
  name: string;
  kind: "counter" | "histogram" | "gauge";
  unit: string;
  description: string;
  /** A histogram's bounds, as the conventions advise */
  bounds?: readonly number[];
}

const DURATIONS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

export const METRICS = {
  tokens: {
    name: "gen_ai.client.token.usage",
    kind: "histogram",
    unit: "{token}",
    description: "Tokens that the workers' requests used, cached ones among the input",
    bounds: [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864],
  },
  requestDuration: {
    name: "gen_ai.client.operation.duration",
    kind: "histogram",
    unit: "s",
    description: "How long the workers' requests took",
    bounds: DURATIONS,
  },
  runDuration: {
    name: "gen_ai.invoke_agent.duration",
    kind: "histogram",
    unit: "s",
    description: "How long the workers' runs took",
    bounds: DURATIONS,
  },
  runs: {
    name: "memory_lanes.runs",
    kind: "counter",
    unit: "{run}",
    description: "Runs of the workers, by how they ended",
  },
  failures: {
    name: "memory_lanes.failures",
    kind: "counter",
    unit: "{failure}",
    description: "Runs and compactions that failed, by kind",
  },
  cost: {
    name: "memory_lanes.cost",
    kind: "counter",
    unit: "{USD}",
    description: "What the workers' requests cost in US dollars, by Pi's price list",
  },
  compactions: {
    name: "memory_lanes.compactions",
    kind: "counter",
    unit: "{compaction}",
    description: "Compactions, by whose summary stands",
  },
  freed: {
    name: "memory_lanes.compaction.tokens_freed",
    kind: "counter",
    unit: "{token}",
    description: "Source tokens that compactions took out of the context",
  },
  backlog: {
    name: "memory_lanes.backlog",
    kind: "gauge",
    unit: "{token}",
    description: "Source tokens on a lane's clock",
  },
  threshold: {
    name: "memory_lanes.backlog.threshold",
    kind: "gauge",
    unit: "{token}",
    description: "Source tokens at which a lane is due",
  },
} as const satisfies Record<string, Instrument>;

export type MetricName = keyof typeof METRICS;

/** What Pi calls some providers, and the conventions otherwise */
const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ["amazon-bedrock", "aws.bedrock"],
  ["azure-openai-responses", "azure.ai.openai"],
  ["google", "gcp.gemini"],
  ["google-vertex", "gcp.vertex_ai"],
  ["mistral", "mistral_ai"],
  ["moonshotai", "moonshot_ai"],
  ["xai", "x_ai"],
]);

/** The conventions' name of a provider; Pi's own where they have none. */
export function providerName(provider: string): string {
  return PROVIDERS.get(provider) ?? provider;
}
