import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/** One line that Pi wrote in RPC mode. */
export type PiRecord = Readonly<Record<string, unknown>> & { readonly type: string };

/** What an extension asked of the UI. */
export interface UiRequest extends PiRecord {
  readonly method: string;
  readonly message?: string;
  readonly notifyType?: string;
  readonly statusKey?: string;
  readonly statusText?: string;
}

interface Waiter {
  what: string;
  predicate: (record: PiRecord) => boolean;
  resolve: (record: PiRecord) => void;
  reject: (error: Error) => void;
}

/**
 * Everything that came out of one Pi, and whoever waits for some of it. Each wait ends: with its record, with
 * the process, or at the deadline, and says in the last two cases what was awaited and what came instead.
 */
export class PiRecords {
  readonly events: PiRecord[] = [];
  readonly uiRequests: UiRequest[] = [];
  stderr = "";
  readonly #timeoutMs: number;
  readonly #waiters = new Set<Waiter>();
  readonly #listeners = new Set<(record: PiRecord) => void>();
  #ended: string | undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Reads JSON lines, split on LF only: other line separators are legal inside JSON strings. */
  read(stdout: Readable): void {
    const decoder = new StringDecoder("utf8");
    let rest = "";
    stdout.on("data", (bytes: Buffer) => {
      const lines = (rest + decoder.write(bytes)).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#take(line);
    });
    stdout.on("end", () => this.#take(rest));
  }

  noteStderr(text: string): void {
    this.stderr += text;
  }

  /** Rejects all who wait, now and later. */
  end(why: string): void {
    this.#ended ??= why;
    for (const waiter of [...this.#waiters]) waiter.reject(this.#failure(why, waiter.what));
  }

  on(listener: (record: PiRecord) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  response(id: string, what: string): Promise<PiRecord> {
    return this.#wait((record) => record.type === "response" && record.id === id, what);
  }

  waitFor(
    predicate: (record: PiRecord) => boolean,
    what: string,
    from = this.events.length,
  ): Promise<PiRecord> {
    const seen = this.events.slice(from).find(predicate);
    if (seen) return Promise.resolve(seen);
    return this.#wait((record) => record.type !== "response" && predicate(record), what);
  }

  #wait(predicate: (record: PiRecord) => boolean, what: string): Promise<PiRecord> {
    if (this.#ended !== undefined) return Promise.reject(this.#failure(this.#ended, what));
    return new Promise((resolve, reject) => {
      const deadline = setTimeout(() => {
        waiter.reject(this.#failure(`Timed out after ${this.#timeoutMs} ms`, what));
      }, this.#timeoutMs);
      const done = () => {
        clearTimeout(deadline);
        this.#waiters.delete(waiter);
      };
      const waiter: Waiter = {
        what,
        predicate,
        resolve: (record) => {
          done();
          resolve(record);
        },
        reject: (error) => {
          done();
          reject(error);
        },
      };
      this.#waiters.add(waiter);
    });
  }

  #take(line: string): void {
    if (line.trim() === "") return;
    const record = parseRecord(line);
    if (record.type === "extension_ui_request") this.uiRequests.push(record as UiRequest);
    else if (record.type !== "response" && record.type !== "message_update") this.events.push(record);
    for (const listener of [...this.#listeners]) listener(record);
    for (const waiter of [...this.#waiters]) {
      if (waiter.predicate(record)) waiter.resolve(record);
    }
  }

  #failure(why: string, what: string): Error {
    const recent = this.events.slice(-8).map((record) => JSON.stringify(record).slice(0, 200));
    return new Error(
      [
        `${why} while waiting for ${what}.`,
        `Last events:${recent.length === 0 ? " none" : `\n  ${recent.join("\n  ")}`}`,
        `stderr: ${this.stderr.trim() === "" ? "empty" : this.stderr.slice(-2000)}`,
      ].join("\n"),
    );
  }
}

/** Something in Pi or an extension that writes plain text to stdout breaks the protocol; it is kept to be seen. */
function parseRecord(line: string): PiRecord {
  try {
    const record: unknown = JSON.parse(line);
    if (typeof record === "object" && record !== null && "type" in record) return record as PiRecord;
  } catch {
    // falls through: kept as a stray line
  }
  return { type: "stray_output", line };
}
