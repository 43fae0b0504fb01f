/**
 * What the existing V3 extension accepts, as its users' sessions show it: one record that breaks these rules makes it
 * pass over the whole entry, or over all the memory in a compaction's details.
 */
export function v3Accepts(kind: "observation" | "reflection", record: unknown): boolean {
  const fields = record as Record<string, unknown>;
  const text = (value: unknown) => typeof value === "string" && value !== "";
  const texts = (value: unknown) => Array.isArray(value) && value.length > 0 && value.every(text);
  const { id, content, timestamp, relevance, sourceEntryIds, supportingObservationIds, tokenCount } = fields;
  const isSound =
    /^[0-9a-f]{12}$/.test(String(id)) &&
    text(content) &&
    // It takes several lines in an observation, and stumbles over them when it shows it.
    !/[\r\n]/.test(String(content)) &&
    Number.isFinite(tokenCount) &&
    Number(tokenCount) >= 0;
  if (kind === "reflection") return isSound && texts(supportingObservationIds);
  const tiers: unknown[] = ["low", "medium", "high", "critical"];
  return isSound && text(timestamp) && tiers.includes(relevance) && texts(sourceEntryIds);
}
