import { randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** Decides who gets in: only who knows the token, asks for this very host, and does not come from another page. */
export interface RequestGuard {
  readonly token: string;
  /** The HTTP status to refuse a request with; undefined when it may pass. */
  refusal(request: IncomingMessage, url: URL): number | undefined;
}

const FORBIDDEN = 403;
const NOT_ALLOWED = 405;

/** `port` is asked for each time: a free one is only known once the server listens. */
export function createRequestGuard(port: () => number): RequestGuard {
  const token = randomBytes(24).toString("base64url");
  const hosts = () => [`127.0.0.1:${port()}`, `localhost:${port()}`];

  return {
    token,
    refusal({ headers, method }, url) {
      // A foreign host here means that a name of somebody else's was pointed at this machine.
      if (!hosts().includes(headers.host ?? "")) return FORBIDDEN;
      const { origin } = headers;
      if (origin !== undefined && !hosts().some((host) => origin === `http://${host}`)) return FORBIDDEN;
      if (headers["sec-fetch-site"] === "cross-site") return FORBIDDEN;
      if (!isSame(url.searchParams.get("token") ?? "", token)) return FORBIDDEN;
      return method === "GET" ? undefined : NOT_ALLOWED;
    },
  };
}

/** Compares in a time that does not depend on where the two differ. */
function isSame(given: string, expected: string): boolean {
  const a = Buffer.from(given);
  const b = Buffer.from(expected);
  return a.length === b.length && timingSafeEqual(a, b);
}
