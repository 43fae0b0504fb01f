/**
 * Text of the kinds that a session holds, written for the tests of the token estimate: several paragraphs for each
 * class, so that a tokeniser's count of it is no accident of a few words.
 */
export const PROSE: Readonly<Record<string, string>> = {
  "English, a report": `
The nightly export stopped on Tuesday because the disk filled up, and nobody noticed until the accounting team asked for
their figures. What filled it was not the export itself but the copies we keep of every failed run: each one holds the
whole working set, and a retry loop that was meant to give up after five attempts had gone on for six days.

I have removed the copies older than a week, which freed about forty gigabytes, and put a limit on the number of retries.
The deeper question is whether we want to keep copies at all. They were useful when the format was new and we could not
tell a bad input from a bad parser. Since then the parser has been stable for two years, and in all that time somebody has
looked into a copy exactly once. My proposal is to keep the input and the log, and to throw the rest away.

Two things are left to decide. First, who watches the disk? The monitor that should have warned us was moved to the new
cluster in spring and never pointed at the old machines again. Second, should a failed export block the next one? Today it
does not, so a broken file is simply replaced by a newer broken file, and the failure looks younger than it is.`,
  "English, a conversation": `
Can you have a look at why the tests are so slow? They used to take thirty seconds, and since last week it's more like four
minutes. I didn't change anything except the fixtures, I think.

Sure. I'll start with the timings. Most of the time goes into one file, the one that opens a database for every single case.
It wasn't always like that: a helper used to share the connection, but it's been inlined, so now we pay for the handshake
three hundred times. I'd put the helper back, and I'd also drop the sleep in the teardown, which isn't needed any more.

Sounds good, but don't touch the migrations, they're being rewritten on another branch. And please use the new logger, not
console. Oh, and one more thing: Anna says the build server has only two cores, so whatever you do shouldn't rely on eight.

Got it. I won't touch the migrations. With the shared connection the suite takes twenty-two seconds here, and with two
workers it's thirty-one, so we're back where we were. I've left the parallel setting alone.`,
  "English, literary": `
The house had been sold twice before anyone thought to open the cellar. It lay under the kitchen, behind a door that three
coats of paint had turned into a piece of the wall, and it was the dog who found it, scratching one wet afternoon at what
looked like nothing. Margaret fetched a knife and cut along the line his claws had drawn. The paint came away in long green
ribbons, then white ones, then a brown so dark that it might have been the wood itself.

Beneath were eleven steps and a smell of apples. Somebody had wrapped every single fruit in newspaper and laid it on slatted
shelves, row above row, until the paper had yellowed and the apples had shrunk into small hard faces. She unfolded one of the
sheets. The date was gone, but a column of tides had survived, and a notice that the ferry would not run on Sunday.

She sat on the lowest step until the light failed. It seemed to her that she had been given something, though she could not
have said what: not the apples, certainly, and not the news that some ferry, on some Sunday, had stayed in its harbour.`,
  "Chinese, simplified": `
昨天晚上的构建失败了，原因是测试服务器的磁盘空间不足。我已经删除了一周以前的日志文件，并且重新运行了所有的测试，现在全部通过。
不过这个问题以后还会出现，所以我建议把日志的保存时间从三十天改成七天，同时增加一个磁盘空间的监控，超过百分之八十就发送通知。

用户在反馈里提到，搜索功能有时候会返回重复的结果。我检查了数据库的查询语句，发现连接两张表的时候没有去掉重复的记录。修改以后，
同样的查询只需要原来一半的时间。另外，我们还应该给标题字段加上索引，因为大部分的搜索都是按照标题进行的。

关于下个版本的计划，产品经理希望先完成导出功能，再考虑新的界面。我同意这个顺序，因为导出功能的需求已经很清楚，而界面的设计还没有
最后确定。预计导出功能需要两个星期，其中一个星期用来写测试和文档。如果大家没有别的意见，我明天就开始。`,
  "Chinese, traditional": `
昨天晚上的建置失敗了，原因是測試伺服器的磁碟空間不足。我已經刪除了一週以前的記錄檔，並且重新執行了所有的測試，現在全部通過。
不過這個問題以後還會出現，所以我建議把記錄的保存時間從三十天改成七天，同時增加一個磁碟空間的監控，超過百分之八十就發送通知。

使用者在回饋裡提到，搜尋功能有時候會傳回重複的結果。我檢查了資料庫的查詢語句，發現連接兩張資料表的時候沒有去掉重複的記錄。修改
以後，同樣的查詢只需要原來一半的時間。另外，我們還應該為標題欄位加上索引，因為大部分的搜尋都是按照標題進行的。

關於下個版本的計畫，產品經理希望先完成匯出功能，再考慮新的介面。我同意這個順序，因為匯出功能的需求已經很清楚，而介面的設計還沒有
最後確定。預計匯出功能需要兩個星期，其中一個星期用來寫測試和文件。如果大家沒有別的意見，我明天就開始。`,
  Japanese: `
昨夜のビルドは、テストサーバーのディスク容量が足りなくなったために失敗しました。一週間以上前のログファイルを削除し、すべてのテストを
もう一度実行したところ、今度は全部成功しました。ただし、このままではまた同じ問題が起きるので、ログの保存期間を三十日から七日に短くし、
使用率が八割を超えたら通知が届くようにしたいと思います。

ユーザーから、検索結果に同じ項目が二回表示されることがあるという報告がありました。データベースの問い合わせを調べると、二つの表を結合する
ときに重複を取り除いていませんでした。修正した後は、同じ検索にかかる時間が半分になりました。検索の多くはタイトルで行われるので、
タイトルの列にインデックスを付けるべきだと考えています。

次のバージョンについては、まずエクスポート機能を完成させて、その後で新しい画面を検討することになりました。エクスポートの要件ははっきり
していますが、画面のデザインはまだ決まっていないからです。作業には二週間かかる見込みで、そのうち一週間はテストと文書に使います。`,
  Korean: `
어젯밤 빌드는 테스트 서버의 디스크 공간이 부족해서 실패했습니다. 일주일이 지난 로그 파일을 지우고 모든 테스트를 다시 실행했더니 이번에는
전부 통과했습니다. 하지만 그대로 두면 같은 문제가 또 생길 것이므로 로그 보관 기간을 삼십 일에서 칠 일로 줄이고, 사용량이 팔십 퍼센트를
넘으면 알림을 보내도록 하는 것이 좋겠습니다.

사용자들이 검색 결과에 같은 항목이 두 번 나타난다고 알려 왔습니다. 데이터베이스 질의를 살펴보니 두 테이블을 합칠 때 중복을 제거하지 않고
있었습니다. 수정한 뒤에는 같은 검색에 걸리는 시간이 절반으로 줄었습니다. 검색은 대부분 제목으로 이루어지기 때문에 제목 열에 색인을 추가해야
한다고 생각합니다.

다음 버전에서는 먼저 내보내기 기능을 완성하고 그다음에 새로운 화면을 검토하기로 했습니다. 내보내기의 요구 사항은 분명하지만 화면 디자인은
아직 정해지지 않았기 때문입니다. 작업에는 이 주가 걸릴 것으로 보이며 그중 한 주는 테스트와 문서에 쓸 예정입니다.`,
  Arabic: `
فشلت عملية البناء ليلة أمس لأن مساحة القرص في خادم الاختبار لم تعد كافية. حذفت ملفات السجل التي مضى عليها أكثر من أسبوع
ثم أعدت تشغيل جميع الاختبارات، وقد نجحت كلها هذه المرة. لكن المشكلة ستعود إذا لم نغير شيئا، لذلك أقترح أن نحتفظ بالسجلات سبعة
أيام بدلا من ثلاثين، وأن نضيف تنبيها عندما يتجاوز الاستخدام ثمانين في المئة.

ذكر بعض المستخدمين أن نتائج البحث تحتوي أحيانا على عناصر مكررة. راجعت استعلام قاعدة البيانات ووجدت أن ربط الجدولين لا يزيل
التكرار. بعد الإصلاح أصبح البحث نفسه يحتاج إلى نصف الوقت. وأرى أيضا أن نضيف فهرسا إلى حقل العنوان لأن معظم عمليات البحث تجري
حسب العنوان.

أما الإصدار القادم فقد اتفقنا على إكمال وظيفة التصدير أولا ثم النظر في الواجهة الجديدة. متطلبات التصدير واضحة، أما تصميم
الواجهة فلم يتحدد بعد. نتوقع أن يستغرق العمل أسبوعين، أحدهما للاختبارات والوثائق.`,
  Russian: `
Вчерашняя сборка не прошла, потому что на тестовом сервере закончилось место на диске. Я удалил журналы старше недели и
снова запустил все тесты, на этот раз они прошли успешно. Но проблема вернётся, если ничего не менять, поэтому предлагаю
хранить журналы семь дней вместо тридцати и отправлять уведомление, когда занято больше восьмидесяти процентов.

Пользователи сообщают, что в результатах поиска иногда появляются повторы. Я проверил запрос к базе данных и увидел, что
при соединении двух таблиц повторы не удаляются. После исправления тот же поиск занимает вдвое меньше времени. Кроме того,
стоит добавить индекс по полю с заголовком, потому что чаще всего ищут именно по заголовку.

В следующей версии мы решили сначала закончить выгрузку, а потом заняться новым интерфейсом. Требования к выгрузке понятны,
а внешний вид ещё не утверждён. На работу уйдёт две недели, из них одна на тесты и документацию.`,
  Ukrainian: `
Вчорашня збірка не пройшла, бо на тестовому сервері закінчилося місце на диску. Я видалив журнали, старші за тиждень, і знову
запустив усі тести, цього разу вони завершилися успішно. Але проблема повернеться, якщо нічого не змінювати, тому пропоную
зберігати журнали сім днів замість тридцяти й надсилати сповіщення, коли зайнято понад вісімдесят відсотків.

Користувачі повідомляють, що в результатах пошуку іноді трапляються повтори. Я перевірив запит до бази даних і побачив, що під
час з'єднання двох таблиць повтори не вилучаються. Після виправлення той самий пошук триває вдвічі менше. Крім того, варто додати
індекс за полем заголовка, бо найчастіше шукають саме за заголовком.

У наступній версії ми вирішили спершу завершити вивантаження, а потім узятися за новий інтерфейс. Вимоги до вивантаження зрозумілі,
а вигляд інтерфейсу ще не затверджено. Робота забере два тижні, з них один на тести й документацію.`,
  German: `
Der gestrige Build ist fehlgeschlagen, weil auf dem Testserver kein Speicherplatz mehr frei war. Ich habe die Protokolle gelöscht,
die älter als eine Woche waren, und alle Tests noch einmal laufen lassen; diesmal waren sie erfolgreich. Das Problem kommt aber
wieder, wenn wir nichts ändern. Deshalb schlage ich vor, Protokolle nur noch sieben Tage aufzubewahren und eine Warnung zu schicken,
sobald mehr als achtzig Prozent belegt sind.

Nutzer berichten, dass in den Suchergebnissen manchmal Einträge doppelt vorkommen. Die Abfrage verknüpft zwei Tabellen, ohne
Wiederholungen zu entfernen. Nach der Korrektur braucht dieselbe Suche nur noch die halbe Zeit. Außerdem sollten wir das Titelfeld
mit einem Index versehen, denn meistens wird nach dem Titel gesucht.`,
  French: `
La compilation d'hier a échoué parce que le serveur de test n'avait plus de place sur le disque. J'ai supprimé les journaux de plus
d'une semaine et relancé tous les tests, qui sont passés cette fois. Le problème reviendra pourtant si nous ne changeons rien ; je
propose donc de garder les journaux sept jours au lieu de trente et d'envoyer une alerte dès que quatre-vingts pour cent de l'espace
sont occupés.

Des utilisateurs signalent que les résultats de recherche contiennent parfois des doublons. La requête joint deux tables sans écarter
les répétitions. Après la correction, la même recherche prend deux fois moins de temps. Il faudrait aussi ajouter un index sur le
titre, puisque la plupart des recherches portent sur lui.`,
};

export const CODE: Readonly<Record<string, string>> = {
  TypeScript: `
export interface Lease {
  readonly holder: string;
  readonly expiresAt: number;
}

/** Hands out one lease at a time; a second caller waits until the first has let go or run out. */
export function createLeases(now: () => number, { ttlMs = 30_000 }: { ttlMs?: number } = {}) {
  let current: Lease | undefined;
  const waiting: Array<(lease: Lease) => void> = [];

  function take(holder: string): Promise<Lease> {
    if (!current || current.expiresAt <= now()) {
      current = { holder, expiresAt: now() + ttlMs };
      return Promise.resolve(current);
    }
    return new Promise((resolve) => waiting.push(resolve));
  }

  function release(lease: Lease): boolean {
    if (lease !== current) return false;
    const next = waiting.shift();
    current = next ? { holder: lease.holder, expiresAt: now() + ttlMs } : undefined;
    if (next && current) next(current);
    return true;
  }

  return { take, release, get queued() { return waiting.length; } };
}

const HTTPRetryAfter = /^(?:\\d+|[A-Z][a-z]{2}, \\d{2} .*GMT)$/;
const MAX_ATTEMPTS = 5, isURLSafe = (s: string) => !/[^\\w.~-]/.test(s);`,
  Python: `
from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Station:
    """A weather station and where it stands."""

    name: str
    latitude: float
    longitude: float
    readings: list[float] = field(default_factory=list)


def monthly_means(path: Path, *, skip_header: bool = True) -> dict[str, float]:
    totals: dict[str, float] = defaultdict(float)
    counts: dict[str, int] = defaultdict(int)
    with path.open(newline="", encoding="utf-8") as handle:
        rows = csv.reader(handle)
        if skip_header:
            next(rows, None)
        for row_number, row in enumerate(rows, start=2):
            try:
                month, value = row[0][:7], float(row[3])
            except (IndexError, ValueError) as error:
                raise ValueError(f"{path}:{row_number}: unreadable row: {error}") from error
            totals[month] += value
            counts[month] += 1
    return {month: totals[month] / counts[month] for month in sorted(totals)}


if __name__ == "__main__":
    for month, mean in monthly_means(Path("readings.csv")).items():
        print(f"{month}\\t{mean:6.2f}")`,
  Rust: `
use std::collections::HashMap;
use std::io::{self, BufRead, Write};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token<'a> {
    Number(i64),
    Name(&'a str),
    Operator(char),
}

pub fn tokenize(input: &str) -> Result<Vec<Token<'_>>, String> {
    let mut tokens = Vec::with_capacity(input.len() / 2);
    let mut rest = input.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '0'..='9' => rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()),
            'a'..='z' | 'A'..='Z' | '_' => rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len()),
            '+' | '-' | '*' | '/' | '(' | ')' => 1,
            other => return Err(format!("unexpected character {other:?}")),
        };
        let (word, after) = rest.split_at(length);
        tokens.push(match first {
            '0'..='9' => Token::Number(word.parse().map_err(|e| format!("{word}: {e}"))?),
            c if c.is_alphabetic() || c == '_' => Token::Name(word),
            c => Token::Operator(c),
        });
        rest = after.trim_start();
    }
    Ok(tokens)
}

fn main() -> io::Result<()> {
    let mut variables: HashMap<String, i64> = HashMap::new();
    for line in io::stdin().lock().lines() {
        writeln!(io::stderr(), "{:?} {}", tokenize(&line?), variables.len())?;
        variables.insert("last".to_owned(), 1);
    }
    Ok(())
}`,
  "Shell and its output": `
$ git log --oneline -5 && npm test -- --run src/export
3f9c2ab Keep inputs and logs of failed runs only
a71d004 Give up after five attempts
0be4411 Move the monitor to the new cluster
9d2e7f0 Bump vite from 5.4.11 to 5.4.14 (#218)
c85a3de Merge branch 'main' into feature/export-csv

 ✓ src/export/rows.test.ts (14 tests) 212ms
 ✓ src/export/columns.test.ts (9 tests) 87ms
 ❯ src/export/file.test.ts (6 tests | 1 failed) 1340ms
   × writes a header once 31ms
     → expected 'id,name,total\\nid,name' to be 'id,name,total\\n' // Object.is equality

 FAIL  src/export/file.test.ts > writes a header once
AssertionError: expected 'id,name,total\\nid,name' to be 'id,name,total\\n' // Object.is equality
 ❯ src/export/file.test.ts:42:29

$ for f in logs/*.gz; do zcat "$f" | grep -c ' 503 ' | xargs printf '%s\\t%d\\n' "$f"; done
logs/access-2026-01-12.gz	17
logs/access-2026-01-13.gz	4
$ find . -name '*.test.ts' -not -path './node_modules/*' -exec wc -l {} + | sort -rn | head -3
   1204 total
    311 ./src/export/file.test.ts
    187 ./src/export/columns.test.ts`,
  Markdown: `
# Exporting

The \`export\` command writes **one file per table**. Call it with a folder:

\`\`\`bash
tool export --out ./backup --format csv
\`\`\`

| Option | Default | Meaning |
| --- | --- | --- |
| \`--out\` | \`.\` | Folder to write to; it is created when missing |
| \`--format\` | \`csv\` | \`csv\`, \`json\` or \`parquet\` |
| \`--limit\` | none | Stop after this many rows |

## What is not exported

- Deleted rows, unless you pass [\`--with-deleted\`](./options.md#with-deleted)
- Columns of type *blob*: their size is written instead
- Anything in a schema that starts with \`tmp_\`

> **Note:** the order of rows is that of the primary key. See the [FAQ](https://example.org/docs/faq?topic=order&lang=en).`,
};

export const DATA: Readonly<Record<string, string>> = {
  "JSON, indented": JSON.stringify(
    {
      name: "weather-station",
      version: "2.14.3",
      private: true,
      stations: [
        {
          id: "st-0042",
          name: "Harbour wall",
          position: { lat: 54.1832, lon: 12.0871 },
          active: true,
          tags: ["sea", "wind"],
        },
        {
          id: "st-0043",
          name: "Old mill",
          position: { lat: 54.2011, lon: 12.1449 },
          active: false,
          tags: [],
        },
        {
          id: "st-0051",
          name: "Observatory roof",
          position: null,
          active: true,
          tags: ["roof", "temperature", "rain"],
        },
      ],
      limits: {
        maxReadingsPerHour: 3600,
        retryAfterSeconds: 15,
        alertThreshold: 0.85,
        emailRecipients: ["ops@example.org"],
      },
      build: {
        target: "es2023",
        sourcemap: true,
        exclude: ["**/*.test.ts", "dist/**"],
        createdAt: "2026-01-15T14:30:00.000Z",
      },
    },
    null,
    2,
  ),
  "JSON, with tabs": JSON.stringify(
    {
      compilerOptions: {
        strict: true,
        module: "NodeNext",
        outDir: "./dist",
        types: ["node"],
        paths: { "@app/*": ["./src/*"] },
      },
      include: ["src", "test"],
      scripts: {
        build: "tsc -p .",
        test: "vitest run",
        lint: "biome check .",
        start: "node dist/main.js --port 8080",
      },
      dependencies: { "left-pad": "^1.3.0", "@scope/some-package": "~4.0.12", zod: "^4.6.7" },
    },
    null,
    "\t",
  ),
  "JSON, one line": JSON.stringify(
    Array.from({ length: 12 }, (_, n) => ({
      type: "message",
      id: (n * 2654435761).toString(16).slice(0, 8),
      parentId: null,
      timestamp: `2026-01-15T14:${10 + n}:0${n % 10}.${100 + n}Z`,
      message: {
        role: n % 2 ? "assistant" : "user",
        content: [{ type: "text", text: "Please read the file and tell me what it does." }],
      },
      usage: { input: 1200 + n * 37, output: 88, cacheRead: 51200, cost: { total: 0.0123 + n } },
    })),
  ),
  "YAML and log lines": `
services:
  api:
    image: registry.example.org/team/api:1.4.2
    environment:
      DATABASE_URL: postgres://app:secret@db:5432/app
      LOG_LEVEL: info
    ports: ["8080:8080"]
    depends_on:
      - db
  db:
    image: postgres:16-alpine
    volumes:
      - data:/var/lib/postgresql/data

2026-01-15T14:30:01.482Z INFO  [http] GET /api/v1/stations/st-0042/readings?from=2026-01-01 200 in 48ms
2026-01-15T14:30:02.117Z WARN  [pool] connection 7 idle for 31204ms, closing
2026-01-15T14:30:02.390Z ERROR [http] POST /api/v1/readings 503 in 5002ms: upstream timed out
    at Pool.acquire (/srv/app/node_modules/pool/lib/pool.js:212:19)
    at async handler (file:///srv/app/dist/routes/readings.js:88:22)`,
};
