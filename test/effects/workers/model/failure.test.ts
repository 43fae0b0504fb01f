import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  classifyFailure,
  type FailureKind,
  failureFrom,
  isPassing,
  readableMessage,
} from "../../../../src/effects/workers/model/failure.ts";

const HTML_PAGE =
  "<!DOCTYPE html>\n<html><head><title>Login portal</title><style>h1 { color: red }</style></head>" +
  '<body onload="x()"><h1>502 Bad gateway</h1><p>The server is busy.</p></body></html>';

/** What providers, local servers, SDKs and Node say, by provider; the same words reach us through pi-ai. */
const MESSAGES: readonly (readonly [who: string, kind: FailureKind, text: string])[] = [
  // Prompt too long
  [
    "OpenAI",
    "prompt-too-long",
    `400: {"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}`,
  ],
  [
    "OpenAI",
    "prompt-too-long",
    "Your input exceeds the context window of this model. Please adjust your input.",
  ],
  [
    "OpenAI, one request over the minute's tokens",
    "rate-limit",
    "429 Request too large for gpt-4o in organization org-abc on tokens per min (TPM): Limit 30000, Requested 41877.",
  ],
  [
    "Anthropic",
    "prompt-too-long",
    '400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}',
  ],
  [
    "Anthropic, by bytes",
    "prompt-too-long",
    '413 {"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}',
  ],
  [
    "Google",
    "prompt-too-long",
    '{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}',
  ],
  ["Bedrock", "prompt-too-long", "ValidationException: Input is too long for requested model."],
  [
    "xAI",
    "prompt-too-long",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
  ],
  ["Groq", "prompt-too-long", "400 Please reduce the length of the messages or completion."],
  [
    "Mistral",
    "prompt-too-long",
    "Prompt contains 40961 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
  ],
  [
    "Together",
    "prompt-too-long",
    "The input (65000 tokens) is longer than the model's context length (32769 tokens).",
  ],
  ["Kimi", "prompt-too-long", "Your request exceeded model token limit: 262144 (requested: 291351)"],
  ["Qwen", "prompt-too-long", "400: Range of input length should be [1, 129024]"],
  [
    "llama.cpp",
    "prompt-too-long",
    '400: {"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}',
  ],
  [
    "vLLM",
    "prompt-too-long",
    "400 This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).",
  ],
  ["Ollama", "prompt-too-long", "500 prompt too long; exceeded max context length by 322 tokens"],
  [
    "LM Studio",
    "prompt-too-long",
    "The number of tokens to keep from the initial prompt is greater than the context length.",
  ],
  ["a proxy", "prompt-too-long", "413 status code (no body)"],

  // Accounts and keys
  [
    "OpenAI",
    "auth",
    '401: {"message":"Incorrect API key provided: sk-proj-abcdefgh12345678. You can find your API key at https://platform.openai.com/account/api-keys.","code":"invalid_api_key"}',
  ],
  [
    "Anthropic",
    "auth",
    '401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}',
  ],
  [
    "Anthropic",
    "quota",
    "400 Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade.",
  ],
  [
    "Google",
    "auth",
    '{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}',
  ],
  ["Google", "auth", "Could not load the default credentials."],
  ["Bedrock", "auth", "ExpiredTokenException: The security token included in the request is expired"],
  [
    "Bedrock",
    "auth",
    "AccessDeniedException: You don't have access to the model with the specified model ID.",
  ],
  ["OpenRouter", "quota", "402 Insufficient credits. Add more using https://openrouter.ai/settings/credits"],
  ["Pi", "auth", "No API key for provider: anthropic"],
  ["Pi", "auth", 'No API key found for "openai". Use /login to sign in.'],
  ["a proxy", "auth", "403 <html><body><h1>403 Forbidden</h1></body></html>"],

  // Limits by rate
  [
    "OpenAI",
    "rate-limit",
    "429 Rate limit reached for gpt-4o in organization org-abc on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s.",
  ],
  ["Anthropic", "rate-limit", '429 {"type":"error","error":{"type":"rate_limit_error","message":"…"}}'],
  [
    "Google",
    "rate-limit",
    '{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. Please retry in 31.4s.","status":"RESOURCE_EXHAUSTED"}}',
  ],
  [
    "Google",
    "rate-limit",
    '{"error":{"code":429,"message":"Resource exhausted","status":"RESOURCE_EXHAUSTED"}}',
  ],

  // What an account may have is used up: waiting a moment does not help
  [
    "Google",
    "quota",
    '{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}',
  ],
  [
    "OpenAI",
    "quota",
    '429 {"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota"}',
  ],
  [
    "OpenAI",
    "quota",
    "429 Rate limit reached on requests per day (RPD): Limit 200, Used 200. Please try again in 7m12s.",
  ],
  [
    "Groq",
    "quota",
    "429 Rate limit reached on tokens per day (TPD): Limit 100000, Used 99000. Try again in 20m.",
  ],
  [
    "a subscription",
    "quota",
    "429 You have hit your ChatGPT usage limit (plus plan). Try again in ~134 min.",
  ],

  // Turned away for what it says
  ["Anthropic", "refused", "The model refused to complete the request"],
  ["Anthropic", "refused", "Provider stopped with: sensitive"],
  ["OpenAI", "refused", "Provider finish_reason: content_filter"],
  [
    "Azure",
    "refused",
    "400 The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
  ],
  ["Bedrock", "rate-limit", "ThrottlingException: Too many tokens, please wait before trying again."],
  ["Bedrock", "rate-limit", "Throttling error: Too many requests, please wait before trying again."],
  ["a proxy", "rate-limit", "429 status code (no body)"],

  // Overload
  ["OpenAI", "overloaded", "500 The server had an error while processing your request. Sorry about that!"],
  ["Anthropic", "overloaded", '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'],
  ["Anthropic", "overloaded", "529 Overloaded"],
  [
    "Google",
    "overloaded",
    '{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}',
  ],
  ["Bedrock", "overloaded", "ServiceUnavailableException: Bedrock is unable to process your request."],
  ["Bedrock", "overloaded", "InternalServerException: The system encountered an unexpected error."],
  ["llama.cpp", "overloaded", '503: {"code":503,"message":"Loading model","type":"unavailable_error"}'],
  ["Ollama", "overloaded", "500 llama runner process has terminated: exit status 2"],
  ["vLLM", "overloaded", "503 status code (no body)"],
  ["nginx", "overloaded", `502 ${HTML_PAGE}`],
  ["Cloudflare", "overloaded", "524 A timeout occurred"],

  // Connections
  ["Node", "connection", "fetch failed"],
  ["Node", "connection", "fetch failed: connect ECONNREFUSED 127.0.0.1:11434"],
  ["Node", "connection", "read ECONNRESET"],
  ["Node", "connection", "getaddrinfo ENOTFOUND api.example.com"],
  ["Node", "connection", "connect ETIMEDOUT 10.0.0.1:443"],
  ["Node", "connection", "terminated: other side closed (UND_ERR_SOCKET)"],
  ["Node", "connection", "terminated"],
  ["Node", "connection", "socket hang up"],
  ["Node", "connection", "Premature close"],
  ["Node", "connection", "Headers Timeout Error"],
  ["OpenAI's SDK", "connection", "Connection error."],
  ["OpenAI's SDK", "connection", "Request timed out."],
  ["pi-ai", "connection", "Stream ended without finish_reason"],
  ["Bedrock", "connection", "http2 request did not get a response"],

  // Models that are not there
  ["OpenAI", "no-model", "404 The model `gpt-9` does not exist or you do not have access to it."],
  [
    "Anthropic",
    "no-model",
    '404 {"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}',
  ],
  [
    "Google",
    "no-model",
    '{"error":{"code":404,"message":"models/gemini-9 is not found for API version v1beta"}}',
  ],
  ["Ollama", "no-model", '404: {"message":"model \\"qwen9\\" not found, try pulling it first"}'],

  // Answers that are none
  ["a captive portal", "bad-response", HTML_PAGE],
  ["Node", "bad-response", `Unexpected token '<', "<!DOCTYPE "... is not valid JSON`],
  ["OpenAI's SDK", "bad-response", "Could not parse message into JSON"],
  ["Node", "bad-response", "Unexpected end of JSON input"],

  // Anything else, and above all requests that are wrong: asking again would be refused again
  [
    "OpenAI",
    "other",
    '400: {"message":"Unsupported value: \'temperature\' does not support 0 with this model."}',
  ],
  ["a proxy", "other", "400 status code (no body)"],
  ["a proxy", "other", "404 page not found"],
  ["vLLM", "other", '400 {"message":"\\"auto\\" tool choice requires --enable-auto-tool-choice"}'],
  ["llama.cpp", "other", "400: the upstream connection profile of this request is unknown"],
  ["anyone", "other", "the request ended with aborted"],
  ["anyone", "other", ""],
];

describe("the kind of a failure", () => {
  it.each(MESSAGES)("%s: %s: %s", (_who, kind, text) => {
    expect(classifyFailure(text)).toBe(kind);
  });

  it("makes only rates, overload and connections worth another try", () => {
    const passing = new Set(MESSAGES.map(([, kind]) => kind).filter(isPassing));
    expect([...passing].sort()).toEqual(["connection", "overloaded", "rate-limit"]);
  });

  it("never retries what a server refused with 400, 401, 403 or 404, whatever words came with it", () => {
    const words = fc.constantFrom(
      "connection",
      "network",
      "timed out",
      "unavailable",
      "socket",
      "terminated",
      "x",
    );
    fc.assert(
      fc.property(fc.constantFrom(400, 401, 403, 404), fc.array(words), (status, said) => {
        expect(isPassing(classifyFailure(`${status}: ${said.join(" ")}`))).toBe(false);
      }),
    );
  });

  it("takes a number inside the words for no status", () => {
    expect(classifyFailure("max_tokens may be at most 500 here")).toBe("other");
    expect(classifyFailure("line 401 of the template is wrong")).toBe("other");
  });
});

describe("the message of a failure", () => {
  it("strips a page of HTML to its words", () => {
    expect(readableMessage(`502 ${HTML_PAGE}`)).toBe("502 Login portal Bad gateway The server is busy.");
  });

  it.each([
    [
      "nginx",
      "502 <html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx/1.25</center>\r\n</body></html>",
      "502 Bad Gateway nginx/1.25",
    ],
    [
      "a page whose script has markup, braces and messages in it",
      `<!DOCTYPE html><html><head><script>if (a < b) say("<h1>no</h1>", {"message":"not this"})</script><style>p > b { top: 0 }</style><title>api.example.com | 503: Service unavailable</title></head><body><noscript>Turn on scripts.</noscript><h1>Error 503</h1><!-- <p>hidden</p> --></body></html>`,
      "api.example.com | 503: Service unavailable Turn on scripts. Error",
    ],
    ["a script that is cut off", "500 <html><body><p>Broken</p><script>var a = '<p>x", "500 Broken"],
    ["a tag that is cut off", '500 <html><body><p>Broken</p><div class="a', "500 Broken"],
    [
      "character references, decoded once",
      "<html><body><p>Can&#39;t reach &quot;A &amp; B&quot;&nbsp;&mdash; &#x1F600; &amp;lt;b&gt; &unknown; &#99999999;</p></body></html>",
      `Can't reach "A & B" — 😀 &lt;b> &unknown; &#99999999;`,
    ],
    [
      "words within a sentence that are set apart",
      "<html><body>Please <a href='x'>sign <b>in</b></a> again.<br>Please sign in again!</body></html>",
      "Please sign in again.",
    ],
    ["a page in JSON", '502 {"error":"<html><h1>502 Bad Gateway</h1></html>"}', "502: Bad Gateway"],
  ])("shows a reader's words of %s", (_page, text, message) => {
    expect(readableMessage(text)).toBe(message);
  });

  it("goes through a long page of any kind in no time that anybody would notice", () => {
    for (const piece of ["<", "<!--", "<script>", "</script", "&#", "<p>502 ", "< p", "<svg <", "502 502 "]) {
      const began = performance.now();
      expect(readableMessage(`<html>${piece.repeat(20_000)}`).length).toBeLessThanOrEqual(200);
      expect(performance.now() - began).toBeLessThan(2000);
    }
  });

  it("takes the words out of a JSON body", () => {
    expect(readableMessage('400: {"message":"Say \\"please\\".","type":"x","code":null}')).toBe(
      '400: Say "please".',
    );
    expect(
      readableMessage('429 {"error":{"message":"Provider returned error","metadata":{"raw":"busy"}}}'),
    ).toBe("429: Provider returned error: busy");
    expect(readableMessage('404: {"error":"model not found"}')).toBe("404: model not found");
    expect(readableMessage('422: {"detail":"Unprocessable"}')).toBe("422: Unprocessable");
  });

  it("leaves braces that are no JSON body alone", () => {
    expect(readableMessage("bad template {x}")).toBe("bad template {x}");
  });

  it.each([
    ["Incorrect API key provided: sk-proj-Ab12_cd34-ef56gh78", "sk-proj-Ab12"],
    ["invalid key sk-ant-api03-AAAAbbbbCCCC1111", "AAAAbbbb"],
    ["header Authorization: Bearer abcdef.123456", "abcdef.123456"],
    ["x-api-key: 0123456789abcdef", "0123456789abcdef"],
    ['{"api_key":"zzzzyyyyxxxx"}', "zzzzyyyyxxxx"],
    ["GET https://example.com/v1?key=AIzaSyA1234567890abcdefghijklmnopqrstuv failed", "AIzaSy"],
    ["token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "eyJhbGci"],
    ["credentials AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7"],
    ["ghp_abcdefghijklmnopqrstuvwxyz0123456789 expired", "ghp_abcdef"],
    ["connect to https://user:hunter22@proxy.example.com", "hunter22"],
    ["secret 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "9f86d081"],
  ])("masks the secret in: %s", (text, secret) => {
    const message = readableMessage(text);
    expect(message).not.toContain(secret);
    expect(message).toContain("…");
  });

  it("keeps what merely looks technical", () => {
    const text =
      "model us.anthropic.claude-sonnet-4-20250514-v1:0 has no token limit, request req_011CSHoEeqs5C3";
    expect(readableMessage(text)).toBe(text);
  });

  it("says so when there is nothing to say", () => {
    expect(failureFrom(" \n ")).toEqual({ kind: "other", message: "no reason given" });
  });

  it("is one well-formed line of at most 200 characters, whatever came in", () => {
    const markup = fc.constantFrom(
      "<script>",
      "</script>",
      "<",
      ">",
      "{",
      '"message":"',
      "Bearer ",
      "\n",
      "\ud83d",
      "\u001b[31m",
    );
    const text = fc.array(fc.oneof(markup, fc.string({ unit: "binary" })), { maxLength: 60 });
    fc.assert(
      fc.property(text, (parts) => {
        const { message } = failureFrom(parts.join(""));
        expect(message.length).toBeGreaterThan(0);
        expect(message.length).toBeLessThanOrEqual(200);
        expect(message).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
        expect(message.isWellFormed()).toBe(true);
        expect(message).toBe(message.trim());
      }),
    );
  });

  it("is made in no time from a huge page", () => {
    const before = performance.now();
    failureFrom("<script".repeat(2_000_000));
    failureFrom('{"message":"'.repeat(1_000_000));
    expect(performance.now() - before).toBeLessThan(1000);
  });
});
