/**
 * `npm run dev`: the charts in a page while they are written. When something changes in statecharts/ they are read anew by a process of their
 * own, and the open page draws them; what does not compile is told in the page, which keeps the last that did. Run by Bun, which reads
 * TypeScript as it is.
 */
import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, watch } from 'node:fs';
import { context } from 'esbuild';
import { ChangingCharts } from '../src/inspect/charts-source.ts';
import { startPageServer } from '../src/inspect/page-server.ts';
import type { ChartData } from '../src/ports/chart-data.ts';
import { pageBuild } from './page-build.ts';

/** Editors write a file in several steps. */
const SETTLE_MS = 150;
const ASSETS = '.tap/dev';
const READ = "import('./actors/chart-data.ts').then(({ charts }) => process.stdout.write(JSON.stringify(charts())))";

/** The charts as they are now, or why they cannot be had. */
function read(): Promise<readonly ChartData[] | string> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['-e', READ], { stdio: ['ignore', 'pipe', 'pipe'] });
    const [out, wrong]: [string[], string[]] = [[], []];
    child.stdout.setEncoding('utf8').on('data', (text: string) => out.push(text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => wrong.push(text));
    child.once('close', (code) => {
      resolve(code === 0 ? (JSON.parse(out.join('')) as readonly ChartData[]) : wrong.join('').trim().slice(0, 2_000));
    });
  });
}

mkdirSync(ASSETS, { recursive: true });
const copy = () => {
  for (const asset of ['inspect.html', 'inspect.css']) copyFileSync(`src/inspect/page/${asset}`, `${ASSETS}/${asset}`);
};
copy();
const page = await context(pageBuild(`${ASSETS}/inspect.js`));
await page.rebuild();
await page.watch();

const first = await read();
const source = new ChangingCharts(typeof first === 'string' ? [] : first);
if (typeof first === 'string') console.error(first);
const { port } = await startPageServer({
  source,
  assetsDir: ASSETS,
  port: Number(process.argv[2] ?? 0),
  onLink: (link) => console.log(link),
});
console.log(`the charts at 127.0.0.1:${port}, drawn anew when statecharts/ changes; Ctrl-C ends it`);

let timer: ReturnType<typeof setTimeout> | null = null;
for (const folder of ['statecharts', 'src/inspect/page'])
  watch(folder, () => {
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(async () => {
      copy();
      const charts = await read();
      source.changed(charts);
      console.log(typeof charts === 'string' ? charts : `${charts.length} charts`);
    }, SETTLE_MS);
  });
