import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { harmlessText } from "../../../reducers/harmless-text.ts";
import { messageOf } from "../../../reducers/message-of.ts";
import { type EventSource, progress$ } from "../event-sources/event-source.ts";
import { answerData } from "./data-answers.ts";
import { createRequestGuard } from "./request-guard.ts";
import { statelyPage } from "./stately-page.ts";
import type { ViewerFiles } from "./viewer-files.ts";

export interface InspectServerOptions {
  source: EventSource;
  viewer: ViewerFiles;
  /** A free one when missing */
  port?: number | undefined;
}

export interface InspectServer {
  /** The viewer's address, token included */
  readonly page: string;
  /** The socket that speaks the event protocol of `@statelyai/inspect`, token included */
  readonly socket: string;
  /** The page that shows the same in Stately's inspector, which is online */
  readonly stately: string;
  /** Ends every connection and stops listening. */
  close(): Promise<void>;
}

const LOOPBACK = "127.0.0.1";
const NOT_FOUND = 404;
const POLICY_VIOLATION = 1008;

/**
 * Shows a source to a browser on this machine, and to nobody else: it listens on the loopback interface alone, needs
 * its random token for everything, refuses foreign `Host` and `Origin`, and can only be read.
 */
export async function startInspectServer({
  source,
  viewer,
  port = 0,
}: InspectServerOptions): Promise<InspectServer> {
  let listeningOn = port;
  const guard = createRequestGuard(() => listeningOn);
  const sockets = new WebSocketServer({ noServer: true, maxPayload: 1024 });
  const server = createServer((request, response) => void respond(request, response));
  server.on("upgrade", (request, connection, head) => upgrade(request, connection, head));

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = urlOf(request);
    const refusal = url ? guard.refusal(request, url) : NOT_FOUND;
    if (!url || refusal !== undefined) return refuse(response, refusal ?? NOT_FOUND);
    try {
      const file =
        url.pathname === "/stately" ? statelyPage(guard.token) : viewer.file(url.pathname, guard.token);
      if (file) return send(response, file.type, file.body, file.policy);
      const answer = await answerData(source, url);
      if (answer === undefined) return refuse(response, NOT_FOUND);
      send(response, "application/json; charset=utf-8", forPage(answer));
    } catch (error) {
      response.writeHead(400, { "Content-Type": "text/plain; charset=utf-8" });
      response.end(messageOf(error));
    }
  }

  function upgrade(request: IncomingMessage, connection: Duplex, head: Buffer): void {
    connection.on("error", () => connection.destroy());
    const url = urlOf(request);
    const feed = url && guard.refusal(request, url) === undefined ? FEEDS[url.pathname] : undefined;
    if (!feed) {
      connection.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    sockets.handleUpgrade(request, connection, head, (socket) => {
      // There is nothing to say to this server.
      socket.on("message", () => socket.close(POLICY_VIOLATION, "read-only"));
      socket.on("error", () => socket.terminate());
      const stop = feed(source, socket);
      socket.on("close", stop);
    });
  }

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, LOOPBACK, resolve);
  });
  listeningOn = (server.address() as AddressInfo).port;
  const address = `${LOOPBACK}:${listeningOn}`;
  const query = `?token=${guard.token}`;
  return {
    page: `http://${address}/${query}`,
    socket: `ws://${address}/inspect${query}`,
    stately: `http://${address}/stately${query}`,
    close: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets.clients) socket.terminate();
        server.close(() => resolve());
        server.closeAllConnections();
      }).then(() => source.close()),
  };
}

type Feed = (source: EventSource, socket: WebSocket) => () => void;

const FEEDS: Readonly<Record<string, Feed>> = {
  "/inspect": (source, socket) => source.streamMessages(writerOf(socket)),
  "/live": (source, socket) => {
    const told = progress$(source).subscribe((progress) => socket.send(forPage(progress)));
    return () => told.unsubscribe();
  },
};

/** What the page shows, as JSON: its texts made harmless, whatever of a session is in them. */
function forPage(answer: unknown): string {
  return JSON.stringify(answer, (_key, value: unknown) =>
    typeof value === "string" ? harmlessText(value) : value,
  );
}

/** More than this waiting means that the receiver is slower than the source. */
const FULL_BYTES = 1 << 20;

function writerOf(socket: WebSocket) {
  return {
    send: (message: unknown) => socket.send(JSON.stringify(message)),
    isFull: () => socket.bufferedAmount > FULL_BYTES,
  };
}

function urlOf({ url }: IncomingMessage): URL | undefined {
  return URL.parse(url ?? "", `http://${LOOPBACK}`) ?? undefined;
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { "Content-Length": 0, Connection: "close" });
  response.end();
}

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

function send(response: ServerResponse, type: string, body: string | Buffer, policy = POLICY): void {
  response.writeHead(200, {
    "Content-Type": type,
    "Content-Security-Policy": policy,
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
  });
  response.end(body);
}
