import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { Memory } from "../../../src/host/inspector/history/viewer-data.ts";
import { type InspectServer, startInspectServer } from "../../../src/host/inspector/server/inspect-server.ts";
import type { ViewerFiles } from "../../../src/host/inspector/server/viewer-files.ts";
import { startInspect } from "../../support/programs/run-inspect.ts";
import { readRecording, writeLargeRecording } from "../../support/recordings/recording-file.ts";
import {
  disguisedSession,
  OBEYED_OR_HIDDEN,
  UNDISGUISED_LINE,
} from "../../support/sessions/disguised-session.ts";

const SECRET = "the viewer's page";
const viewer: ViewerFiles = {
  file: (path) => (path === "/" ? { type: "text/html", body: SECRET } : undefined),
};

let server: InspectServer;
let port: number;
let token: string;

beforeAll(async () => {
  server = await startInspectServer({ source: await readRecording(writeLargeRecording(200)), viewer });
  const url = new URL(server.page);
  port = Number(url.port);
  token = url.searchParams.get("token") ?? "";
});
afterAll(() => server.close());

interface Asked {
  path?: string;
  method?: string;
  headers?: Record<string, string>;
  host?: string;
}

/** Asks as any program on this machine could. */
function ask({ path = `/?token=${token}`, method = "GET", headers = {}, host = "127.0.0.1" }: Asked = {}) {
  return new Promise<{ status: number; body: string; headers: NodeJS.Dict<string | string[]> }>(
    (resolve, reject) => {
      const asked = request({ host, port, path, method, headers, agent: false }, (response) => {
        let body = "";
        response.on("data", (part) => {
          body += part;
        });
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, body, headers: response.headers }),
        );
      });
      asked.on("error", reject);
      asked.end();
    },
  );
}

/** Opens a socket and tells what became of it. */
function dial(path: string, headers: Record<string, string> = {}): Promise<string> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers });
    socket.on("message", () => {
      resolve("told something");
      socket.terminate();
    });
    socket.on("unexpected-response", (_request, response) => {
      resolve(`refused with ${response.statusCode}`);
      socket.terminate();
    });
    socket.on("error", () => {});
  });
}

describe("the inspect server, from outside", () => {
  it("shows its page to who knows the token", async () => {
    expect(await ask()).toMatchObject({ status: 200, body: SECRET });
  });

  it.each([
    ["no token", { path: "/" }],
    ["a wrong token", { path: "/?token=wrong" }],
    ["a token of the right length", { path: `/?token=${"A".repeat(32)}` }],
    ["a foreign Host", { headers: { Host: "memory.example" } }],
    ["this Host at another port", { headers: { Host: "127.0.0.1:1" } }],
    ["a foreign Origin", { headers: { Origin: "http://memory.example" } }],
    ["a null Origin", { headers: { Origin: "null" } }],
    ["a request from another site", { headers: { "Sec-Fetch-Site": "cross-site" } }],
  ])("gives nothing to %s", async (_name, asked) => {
    for (const path of ["/", "/data/overview", "/data/event", "/stately"]) {
      const query = !("path" in asked) ? `?token=${token}` : asked.path.slice(1);
      const answer = await ask({ ...asked, path: `${path}${query}` });
      expect(answer).toMatchObject({ status: 403, body: "" });
    }
  });

  it.each(["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])("takes no %s", async (method) => {
    expect(await ask({ method })).toMatchObject({ status: 405, body: "" });
  });

  it.each([
    "/../package.json",
    "/..%2fpackage.json",
    "/%2e%2e/%2e%2e/etc/passwd",
    "//etc/passwd",
    "/viewer/../../package.json",
    "/src/host/cli/bin.js",
    "/data/",
  ])("serves nothing outside its bundle: %s", async (path) => {
    const answer = await ask({ path: `${path}?token=${token}` });
    expect([403, 404]).toContain(answer.status);
    expect(answer.body).toBe("");
  });

  it("lets no page put it into a frame or keep what it says", async () => {
    const { headers } = await ask();
    expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
    expect(headers["cache-control"]).toBe("no-store");
    expect(headers["referrer-policy"]).toBe("no-referrer");
    expect(headers["access-control-allow-origin"]).toBeUndefined();
  });

  it("opens its sockets to who knows the token only", async () => {
    expect(await dial(`/inspect?token=${token}`)).toBe("told something");
    for (const path of ["/inspect", "/live"]) {
      expect(await dial(path)).toBe("refused with 403");
      expect(await dial(`${path}?token=wrong`)).toBe("refused with 403");
      expect(await dial(`${path}?token=${token}`, { Origin: "http://memory.example" })).toBe(
        "refused with 403",
      );
      expect(await dial(`${path}?token=${token}`, { Host: "memory.example" })).toBe("refused with 403");
    }
    expect(await dial(`/other?token=${token}`)).toBe("refused with 403");
  });

  it("takes no command over a socket", async () => {
    const code = await new Promise((resolve) => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/inspect?token=${token}`);
      socket.on("open", () => socket.send(JSON.stringify({ type: "run" })));
      socket.on("close", resolve);
    });
    expect(code).toBe(1008);
  });

  it("listens on the loopback interface alone", async () => {
    const outside = Object.values(networkInterfaces())
      .flat()
      .filter((address) => address?.family === "IPv4" && !address.internal)
      .map((address) => address?.address ?? "");
    for (const host of outside) {
      const reached = await new Promise((resolve) => {
        const socket = connect({ host, port, timeout: 1000 });
        socket.on("connect", () => resolve(true));
        socket.on("error", () => resolve(false));
        socket.on("timeout", () => resolve(false));
        socket.on("close", () => socket.destroy());
      });
      expect(reached, `reached through ${host}`).toBe(false);
    }
  });

  it("answers a question that makes no sense with words, not with a crash", async () => {
    expect(await ask({ path: `/data/event?token=${token}&index=99999999` })).toMatchObject({ status: 400 });
    expect(await ask({ path: `/data/events?token=${token}&from=x` })).toMatchObject({ status: 400 });
    expect(await ask()).toMatchObject({ status: 200 });
  });

  it("has another token each time, and is gone once closed", async () => {
    const other = await startInspectServer({
      source: await readRecording(writeLargeRecording(50)),
      viewer,
    });
    const url = new URL(other.page);
    expect(url.searchParams.get("token")).not.toBe(token);
    expect(token.length).toBeGreaterThanOrEqual(32);
    const socket = new WebSocket(`ws://${url.host}/inspect${url.search}`);
    const gone = new Promise((resolve) => socket.on("close", () => resolve("gone")));
    socket.on("error", () => {});
    await new Promise((resolve) => socket.on("open", resolve));
    await other.close();
    expect(await gone).toBe("gone");
    await expect(fetch(other.page)).rejects.toThrow();
  });
});

describe("the page's data", () => {
  it("have nothing of a session's text that hides or reverses it", async () => {
    const dir = mkdtempSync(join(tmpdir(), "disguised-page-"));
    const file = join(dir, "session.jsonl");
    const lines = [...disguisedSession(), { type: "label", id: "\u202ee4", parentId: "gone\u{e0041}" }];
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const inspected = await startInspect([file, "--leaf", "e3"]);
    try {
      const { count } = await inspected.ask<{ count: number }>("overview");
      const memory = await inspected.ask<Memory>(`memory?view=full&index=${count - 1}`);
      const { id = "", text } = memory.observations[0] ?? {};
      expect(text).toBe(UNDISGUISED_LINE);
      const behind = await inspected.ask(`record?index=${count - 1}&kind=observation&id=${id}`);
      expect(JSON.stringify([memory, behind])).not.toMatch(OBEYED_OR_HIDDEN);
    } finally {
      await inspected.stop();
    }
    const broken = await startInspect([file]);
    try {
      const overview = JSON.stringify(await broken.ask("overview"));
      expect(overview).toContain("breaks off at entry e4: its parent gone cannot be read");
      expect(overview).not.toMatch(OBEYED_OR_HIDDEN);
    } finally {
      await broken.stop();
      rmSync(dir, { recursive: true, force: true });
    }
  });
});
