/**
 * Estimated tokens of text that we render or send: from 10 % below to 25 % above a real tokeniser's count on prose,
 * code, JSON, encoded bytes and the larger scripts, a little above on average. One pass, no allocation.
 *
 * Byte-pair tokenisers first split text into pieces: a word with the one space or symbol before it, up to three
 * digits, a run of symbols, a run of blanks. This walks the same pieces and adds what each character costs after the
 * one before it. A word is one token until its unlikely letter pairs have used up its `credit`, so common words are
 * whole and random letters are not.
 */
export function estimateTextTokens(text: string): number {
  let cost = 0;
  /** What is left of the word's credit; below zero, what the word costs beyond one token. */
  let credit = 0;
  let last = NEWLINE;
  let lastCode = -1;
  /** Characters of the current piece so far. */
  let run = 0;
  /** The piece is ASCII symbols without a space before them: one such symbol merges with the word after it. */
  let bare = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const traits = TRAITS[code] ?? 0;
    const kind = traits & KIND_MASK;
    const own = traits >> COST_SHIFT;
    if (kind >= LOWER && last >= LOWER && (kind !== UPPER || last !== LOWER)) {
      run++;
      credit -= own;
      if (kind !== LETTER) credit -= PAIRS[(letterOf(lastCode) << 5) | letterOf(code)] ?? 0;
      // All capitals are rarely whole words, and neither is the word that follows some: HTMLElement.
      if (kind === UPPER && run === 2) credit -= 45;
      else if (kind === LOWER && last === UPPER && run > 2) credit -= 30;
      last = kind;
      lastCode = code;
      continue;
    }
    // A contraction is part of its word: don't.
    if (code === APOSTROPHE && last === LOWER && isLowerCase(text.charCodeAt(i + 1))) {
      credit -= 30;
      lastCode = code;
      continue;
    }
    if (credit < 0) cost -= credit;
    credit = 0;
    switch (kind) {
      case LOWER:
      case UPPER:
      case LETTER:
        if (last === SYMBOL && bare && run === 1) {
          cost += kind === UPPER ? 50 : 5;
          credit = 45;
        } else {
          cost += kind === LETTER && own > 100 ? own : 100;
          if (kind === LETTER) credit = 35;
          else if (kind === LOWER) credit = 63;
          else credit = last === SPACE || last === TAB ? 90 : 56;
        }
        run = 1;
        break;
      case IDEOGRAPH:
        cost += last === IDEOGRAPH ? own : Math.max(own, 100);
        break;
      case DIGIT:
        run = last === DIGIT ? run + 1 : 1;
        if (run % 3 === 1) cost += 100;
        if (last === SPACE || last === TAB) cost += 100;
        break;
      case SPACE:
      case TAB:
        // The last blank before a word belongs to the word; the others of the run are one token together.
        run = last === SPACE || last === TAB ? run + 1 : 1;
        if (run === 1) cost += own;
        else if (run === 2) cost += 100;
        else cost += kind === SPACE ? 0.8 : 7;
        break;
      case NEWLINE:
        cost += last === NEWLINE ? 6 : last === SYMBOL ? 5 : 100;
        break;
      case SYMBOL:
        if (last !== SYMBOL) {
          run = 1;
          bare = last !== SPACE && code < 128;
          cost += Math.max(own, 100) + (last === TAB ? 100 : 0);
        } else {
          run++;
          if (code === lastCode && own <= 100) cost += code < 128 ? 1.5 : 12;
          else if (code >= 128) cost += own;
          else cost += SYMBOL_COSTS[Math.min(run, SYMBOL_COSTS.length - 1)] ?? 0;
        }
        break;
      default:
        // The second half of a pair: the first has been charged for both, `own` is what it was charged too much.
        cost += lastCode >= 0xd800 && lastCode < 0xdc00 ? -own : 100;
    }
    last = kind === LOW_SURROGATE ? SYMBOL : kind;
    lastCode = code;
  }
  if (credit < 0) cost -= credit;
  if (last === SPACE || last === TAB) cost += 100;
  return Math.ceil(cost / COST_OF_TOKEN);
}

/** Costs are in hundredths of a token. The estimate leans 3 % high: too low a one overruns a model's window. */
const COST_OF_TOKEN = 97;

/** The row or column of a letter in `PAIRS`. */
function letterOf(code: number): number {
  return code < 128 ? code & 31 : 0;
}

const APOSTROPHE = 0x27;

function isLowerCase(code: number): boolean {
  return code >= 0x61 && code <= 0x7a;
}

// What characters cost, in hundredths of a token. The numbers were fitted by least squares to o200k_base counts of
// documentation, source code, sessions, encoded bytes and translated program messages, every language and class of
// text weighing alike; the tests hold them to text that the fit never saw.

// What a character is to a tokeniser. LOWER and UPPER are Latin, LETTER the other alphabets, IDEOGRAPH stands for
// scripts in which nearly every character is a token.
const LOW_SURROGATE = 0;
const SYMBOL = 1;
const SPACE = 2;
const TAB = 3;
const NEWLINE = 4;
const DIGIT = 5;
const IDEOGRAPH = 6;
const LOWER = 7;
const UPPER = 8;
const LETTER = 9;

/** What the n-th symbol of a run adds when it is not the one before it again; they pair up, but seldom further. */
const SYMBOL_COSTS = [0, 100, 5, 25, 50, 50, 50, 50, 65];

/** Kind and cost of the characters from a code unit on, up to the next row. */
// biome-ignore format: a table
const RANGES: readonly (readonly [from: number, kind: number, cost: number])[] = [
  [0x00, SYMBOL, 0], [0x09, TAB, 0], [0x0a, NEWLINE, 0], [0x0b, TAB, 0], [0x0d, NEWLINE, 0], [0x0e, SYMBOL, 0],
  [0x20, SPACE, 0], [0x21, SYMBOL, 0], [0x30, DIGIT, 0], [0x3a, SYMBOL, 0], [0x41, UPPER, 0], [0x5b, SYMBOL, 0],
  [0x61, LOWER, 0], [0x7b, SYMBOL, 0], [0xa0, TAB, 100], [0xa1, SYMBOL, 100],
  // Latin with accents: these costs come on top of their letter pairs.
  [0xc0, LOWER, 0], [0x100, LOWER, 35], [0x180, LOWER, 90], [0x250, LETTER, 180], [0x300, LETTER, 100],
  // Greek, Cyrillic, Armenian, Hebrew, Arabic
  [0x370, LETTER, 36], [0x400, LETTER, 23], [0x530, LETTER, 33], [0x590, LETTER, 45], [0x600, LETTER, 31],
  [0x64b, LETTER, 90], [0x660, LETTER, 31], [0x700, LETTER, 150],
  // India, Thailand, then Georgia; Jamo; Ethiopia and others; Vietnamese; polytonic Greek
  [0x900, LETTER, 33], [0xe00, LETTER, 40], [0xe80, LETTER, 36], [0x1100, LETTER, 250], [0x1200, LETTER, 180],
  [0x1780, LETTER, 60], [0x1e00, LETTER, 40], [0x1f00, LETTER, 180],
  // Punctuation, arrows, mathematics, boxes, pictographs, Braille
  [0x2000, SYMBOL, 100], [0x2070, SYMBOL, 150], [0x2190, SYMBOL, 190], [0x2500, SYMBOL, 190],
  [0x25a0, SYMBOL, 210], [0x2800, SYMBOL, 280],
  // East Asia: rare Han, punctuation, Kana, Han, Yi, Hangul
  [0x2e80, IDEOGRAPH, 280], [0x3000, TAB, 100], [0x3001, SYMBOL, 100], [0x3040, IDEOGRAPH, 63],
  [0x3100, IDEOGRAPH, 200], [0x3400, IDEOGRAPH, 290], [0x4e00, IDEOGRAPH, 71], [0xa000, IDEOGRAPH, 250],
  [0xac00, IDEOGRAPH, 64],
  // Surrogates by plane: letter-like, pictographs, newer pictographs, rare Han; private use; wide forms
  [0xd7b0, SYMBOL, 290], [0xd83c, SYMBOL, 210], [0xd83e, SYMBOL, 250], [0xd83f, SYMBOL, 390],
  [0xdc00, LOW_SURROGATE, 0], [0xe000, LETTER, 280], [0xfe00, SYMBOL, 100], [0xfe10, LETTER, 280],
  [0xff00, SYMBOL, 100],
];

const UNCONTRACTED_COST = 155;

/**
 * Letters that tell a language which its script's usual cost would miss: Ukrainian, Serbian and Bulgarian cost more
 * than Russian, and traditional Chinese (also by its uncontracted radicals) more than simplified. And the symbols that
 * are so frequent as to be tokens of their own.
 */
// biome-ignore format: a table
const TELLING: readonly (readonly [characters: string, kind: number, cost: number])[] = [
  ["ыЫ", LETTER, 8],
  ["їЇґҐ", LETTER, 80],
  ["ієІЄўЎ", LETTER, 95],
  ["јЈъЪ", LETTER, 150],
  ["љњћђџЉЊЋЂЏ", LETTER, 160],
  ["،؛؟۔", SYMBOL, 100],
  ["←↑→↓⇒−√∞≈≤≥─━│┃├║═█░▒▓▀▄■□▪▫▲▶►▼◆◇○●★☆♥✅✓✔✨❤➡⭐", SYMBOL, 100], 
  ["檔無為數選個時項標類顯將動區結對參別間後過變會來內敗應態這機體從換則狀圖庫進屬徑並傳裝處當與國", IDEOGRAPH, UNCONTRACTED_COST],
];
// biome-ignore format: a table
const UNCONTRACTED: readonly (readonly [from: number, to: number])[] = [
  [0x7d00, 0x7e9f], [0x898b, 0x89c0], [0x8a02, 0x8b9f], [0x8c9d, 0x8d1c], [0x8eca, 0x8f65], [0x91d2, 0x9484],
  [0x9580, 0x95e7], [0x9801, 0x9874], [0x98e2, 0x9962], [0x99ac, 0x9a65], [0x9b5a, 0x9c7b], [0x9ce5, 0x9e1f],
];

/**
 * How much a pair of letters speaks for a token boundary, in tenths of a token (base 36): the row is the first
 * letter, the column the second, and the first of each stands for letters outside a to z.
 */
// biome-ignore format: a table
const PAIR_ROWS = [
  "351012033753420040333232423", // other
  "28210a307264031808020125204", // a
  "93aa70967438069298218189938", // b
  "64777099004008807727009a925", // c
  "727860878086698288526499746", // d
  "624009237788422543104651028", // e
  "a288802790894971a747227971a", // f
  "a878907a04aa48359a26527a888", // g
  "508aa089617935508957138a667", // h
  "45100131aa45320006332a4a681", // i
  "65a8728885a698867680a5888aa", // j
  "a866218466a96969999458a8777", // k
  "826710448196754188902358a08", // l
  "820970a593a748a00aa16597898", // m
  "73a12450758352a448900547758", // n
  "65013403a743310a38032130456", // o
  "a1a5707934970470a7050588859", // p
  "0a988aaa87aa76a88a878099a8a", // q
  "73813041a2a4610053a12494815", // r
  "76a2a165049885a547681356733", // s
  "84746189029445740912a693624", // t
  "520050308289001a09010a99679", // u
  "a49a7084728757a2897989a8986", // v
  "62986098208799009833969a857", // w
  "9496657a747a858728a81789a67", // x
  "957a85aaa8aa5824498377969a9", // y
  "758681878a9898478a99658772a", // z
];

/** Pictographs so frequent that they are one token: this much less than others. */
const FREQUENT_PICTOGRAPHS = "👇👉👌👍👏🔥😀😁😂😉😊😍😘😭🙂🙏🤣";
const FREQUENT_REBATE = 75;

/** `PAIR_ROWS` in hundredths of a token, at `first << 5 | second`. */
const PAIRS = new Uint8Array(32 * 32);
for (const [first, row] of PAIR_ROWS.entries()) {
  for (const [second, digit] of [...row].entries())
    PAIRS[(first << 5) | second] = Number.parseInt(digit, 36) * 10;
}
for (let letter = 1; letter <= 26; letter++) PAIRS[(letter << 5) | letter] = 12;

const KIND_MASK = 15;
const COST_SHIFT = 4;
/** Kind and cost of each UTF-16 unit. */
const TRAITS = new Uint16Array(0x10000);
for (const [from, kind, cost] of RANGES) TRAITS.fill(traitsOf(kind, cost), from);
for (const [characters, kind, cost] of TELLING) {
  for (const character of characters) TRAITS[character.charCodeAt(0)] = traitsOf(kind, cost);
}
for (const pictograph of FREQUENT_PICTOGRAPHS) {
  TRAITS[pictograph.charCodeAt(1)] = traitsOf(LOW_SURROGATE, FREQUENT_REBATE);
}
for (const [from, to] of UNCONTRACTED) TRAITS.fill(traitsOf(IDEOGRAPH, UNCONTRACTED_COST), from, to + 1);

function traitsOf(kind: number, cost: number): number {
  return (cost << COST_SHIFT) | kind;
}
