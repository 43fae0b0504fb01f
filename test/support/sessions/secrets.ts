import fc from "fast-check";

/**
 * Secrets made up in the form that each vendor documents, so that none is real. Their parts are joined only here: as literals,
 * they would be taken for leaked ones.
 */
export interface Secret {
  kind: string;
  /** What the text has, with what shows that it is a secret */
  text: string;
  /** What must go */
  body: string;
}

const LOWER = "abcdefghijklmnopqrstuvwxyz";
const DIGITS = "0123456789";
const HEX = `${DIGITS}abcdef`;
const ALNUM = `${LOWER}${LOWER.toUpperCase()}${DIGITS}`;
const UPPER = `${LOWER.toUpperCase()}${DIGITS}`;
const URL64 = `${ALNUM}_-`;
const BASE64 = `${ALNUM}+/`;

function run(alphabet: string, length: number): fc.Arbitrary<string> {
  return fc.string({ unit: fc.constantFrom(...alphabet), minLength: length, maxLength: length });
}

/** Text around bodies, by turns: `form("gh", "p_", run(…))` is one secret as a whole. */
function form(kind: string, ...parts: (string | fc.Arbitrary<string>)[]): fc.Arbitrary<Secret> {
  return fc
    .tuple(...parts.map((part) => (typeof part === "string" ? fc.constant(part) : part)))
    .map((texts) => ({
      kind,
      text: texts.join(""),
      body: texts
        .filter((_, at) => typeof parts[at] !== "string")
        .reduce((a, b) => (b.length > a.length ? b : a), ""),
    }));
}

const dashes = "-".repeat(5);
const keyBody = run(BASE64, 64 * 6).map((body) => body.match(/.{64}/g) ?? []);

function keyBlock(name: string, lineEnd: string): fc.Arbitrary<Secret> {
  return keyBody.map((lines) => ({
    kind: "private-key",
    text: [`${dashes}BEGIN ${name}${dashes}`, ...lines, `${dashes}END ${name}${dashes}`].join(lineEnd),
    body: lines[3] ?? "",
  }));
}

/** By vendor, and the form that it documents */
export const SECRET_FORMS: Readonly<Record<string, fc.Arbitrary<Secret>>> = {
  "AWS access key": form("aws-key", "AK", "IA", run(UPPER, 16)),
  "AWS temporary key": form("aws-key", "AS", "IA", run(UPPER, 16)),
  "AWS secret in a file": form("aws-key", "aws_secret", "_access_key = ", run(BASE64, 40)),
  "AWS secret in a shell": form("aws-key", "export AWS_SECRET", "_ACCESS_KEY=", run(BASE64, 40)),
  "AWS secret in JSON": form("aws-key", '"Secret', 'AccessKey": "', run(BASE64, 40), '"'),
  "Google API key": form("google-key", "AI", "za", run(URL64, 35)),
  "Azure storage": form("azure-key", "Account", "Key=", run(BASE64, 86), "=="),
  "DigitalOcean token": form("cloud-key", "dop", "_v1_", run(HEX, 64)),
  "GitHub classic token": form("github-token", "gh", "p_", run(ALNUM, 36)),
  "GitHub app token": form("github-token", "gh", "s_", run(ALNUM, 36)),
  "GitHub fine-grained token": form("github-token", "github", "_pat_", run(ALNUM, 22), "_", run(ALNUM, 59)),
  "GitLab token": form("gitlab-token", "gl", "pat-", run(URL64, 20)),
  "Bitbucket app password": form("bitbucket-token", "AT", "BB", run(ALNUM, 32)),
  "npm token": form("registry-token", "np", "m_", run(ALNUM, 36)),
  "npmrc token": form("registry-token", "//registry.example/:_auth", "Token=", run(ALNUM, 36)),
  "PyPI token": form("registry-token", "pypi", "-AgE", run(URL64, 80)),
  "Docker token": form("registry-token", "dckr", "_pat_", run(URL64, 27)),
  "Anthropic key": form("anthropic-key", "sk-", "ant-api03-", run(URL64, 93), "AA"),
  "OpenAI project key": form("openai-key", "sk-", "proj-", run(URL64, 74), "T3Blbk", "FJ", run(URL64, 74)),
  "OpenAI legacy key": form("openai-key", "sk-", run(ALNUM, 20), "T3Blbk", "FJ", run(ALNUM, 20)),
  "OpenRouter key": form("model-key", "sk-", "or-v1-", run(HEX, 64)),
  "Hugging Face token": form("model-key", "h", "f_", run(LOWER, 34)),
  "Groq key": form("model-key", "gs", "k_", run(ALNUM, 52)),
  "xAI key": form("model-key", "xa", "i-", run(ALNUM, 80)),
  "Slack token": form("slack-token", "xo", "xb-", run(DIGITS, 12), "-", run(DIGITS, 12), "-", run(ALNUM, 24)),
  "Slack webhook": form("slack-token", "https://hooks.slack", ".com/services/T0/B0/", run(ALNUM, 24)),
  "Telegram bot token": form("chat-token", "123456789:", "AA", run(URL64, 33)),
  "Stripe key": form("stripe-key", "sk", "_live_", run(ALNUM, 24)),
  "SendGrid key": form("service-token", "S", "G.", run(ALNUM, 22), ".", run(ALNUM, 43)),
  "Shopify token": form("service-token", "shp", "at_", run(HEX, 32)),
  "Linear key": form("service-token", "lin", "_api_", run(ALNUM, 40)),
  "Figma token": form("service-token", "fig", "d_", run(URL64, 40)),
  "Databricks token": form("service-token", "da", "pi", run(HEX, 32)),
  "Vault token": form("service-token", "hv", "s.", run(URL64, 95)),
  "Grafana token": form("service-token", "gl", "sa_", run(ALNUM, 32), "_", run(HEX, 8)),
  JWT: form("jwt", "ey", "J", run(URL64, 20), ".ey", "J", run(URL64, 60), ".", run(URL64, 43)),
  "database URL": form("url-password", "postgres://app", ":", run(ALNUM, 24), "@db.example.com/main"),
  "web URL": form("url-password", "https://app", ":", run(ALNUM, 24), "@example.com/"),
  "bearer header": form("authorization", "Authorization: ", "Bearer ", run(URL64, 40)),
  "basic header in JSON": form("authorization", '"authorization": ', '"Basic ', run(ALNUM, 40), '"'),
  "RSA key": keyBlock("RSA PRIVATE KEY", "\n"),
  "OpenSSH key": keyBlock("OPENSSH PRIVATE KEY", "\n"),
  "key with Windows line ends": keyBlock("PRIVATE KEY", "\r\n"),
  "key in JSON": keyBlock("PRIVATE KEY", "\\n"),
  "key on one line": keyBlock("EC PRIVATE KEY", " "),
  "PGP key": keyBlock("PGP PRIVATE KEY BLOCK", "\n"),
};

export const anySecret: fc.Arbitrary<Secret> = fc.oneof(...Object.values(SECRET_FORMS));

/** One secret of a form, always the same. */
export function secretOf(name: string, seed = 1): Secret {
  const secret = SECRET_FORMS[name] && fc.sample(SECRET_FORMS[name], { numRuns: 1, seed })[0];
  if (!secret) throw new Error(`There is no form "${name}"`);
  return secret;
}
