/**
 * Records by memory id, in buckets of a few hundred at most, so that adding one copies (and freezes) one
 * bucket and not the whole collection: Immer's cost per append stays flat at any memory size.
 */
export type RecordIndex<T> = Readonly<Record<string, Readonly<Record<string, T>>>>;

type MutableIndex<T> = Record<string, Record<string, T>>;

const BUCKET_DIGITS = 2;

export function recordById<T>(index: RecordIndex<T>, id: string): T | undefined {
  const bucket = index[bucketOf(id)];
  return bucket !== undefined && Object.hasOwn(bucket, id) ? bucket[id] : undefined;
}

/** Puts a record into an Immer draft of an index. */
export function putRecord<T>(draft: MutableIndex<T>, id: string, record: T): void {
  const key = bucketOf(id);
  const bucket = draft[key];
  if (bucket) bucket[id] = record;
  else draft[key] = { [id]: record };
}

/** Bucket names start with a letter: names that look like numbers would be stored and ordered as such. */
function bucketOf(id: string): string {
  return `b${id.slice(0, BUCKET_DIGITS)}`;
}
