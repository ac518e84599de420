/** Docker's way to the image ends at the same configuration as `npm run image`, and lays the files by the same program. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { imageConfig } from '../../.ci/image/recipe.ts';

const text = readFileSync('deploy/Dockerfile', 'utf8')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '');
const steps = text.split('\n').filter((line) => line !== '');
const [build = [], image = []] = ['FROM node:', 'FROM scratch'].map((from, index) => {
  const begins = steps.findIndex((line) => line.startsWith(from));
  return steps.slice(begins, index === 0 ? steps.indexOf('FROM scratch') : undefined);
});
const said = (word: string) =>
  image.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));

t.test('dockerfile: environment, labels, user and entry are those of the builder', async (t) => {
  const config = imageConfig({});
  t.strictSame(
    said('ENV')
      .join(' ')
      .split(/ (?=[A-Z_]+=)/),
    config.Env,
  );
  const labels = [
    ...said('LABEL')
      .join(' ')
      .matchAll(/([\w.]+)="([^"]*)"/g),
  ].map(([, key, value]) => [key, value]);
  t.strictSame(Object.fromEntries(labels), config.Labels);
  t.strictSame(said('USER'), [config.User]);
  t.strictSame(said('WORKDIR'), [config.WorkingDir]);
  t.strictSame(JSON.parse(said('ENTRYPOINT')[0] ?? ''), config.Entrypoint);
});

t.test('dockerfile: the files are laid by the builder, on the Debian that its packages are of', async (t) => {
  t.match(build[0], /^FROM node:24-bookworm AS build$/);
  t.ok(
    build.some((line) => line.startsWith('RUN npm ci') && line.includes('npm run image -- --renew --rootfs /rootfs')),
  );
  t.strictSame(
    image.slice(0, 2),
    ['FROM scratch', 'COPY --from=build --chown=0:0 /rootfs/ /'],
    'and nothing else is in it',
  );
});
