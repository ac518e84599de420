/**
 * The image that `npm run image` makes, in a real containerd as the DaemonSet would run it: read-only root, every capability dropped but those of the manifest,
 * the node's network. Its programs start, the plugin answers, and nothing in it can be written. (The whole life of a node in it is `npm run e2e`.)
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { makeBareNetns } from './bare-netns.ts';
import { DEBIAN_CNI_FOLDER, linkPlugins, missingForContainerd, startContainerd } from './containerd.ts';

t.setTimeout(600_000);
const missing = missingForContainerd();
const skip = missing.length > 0 && `containerd cannot run here: ${missing.join(', ')}`;
const IMPORT_TIMEOUT_MS = 300_000;

t.test(
  'image: its programs run in containerd with a read-only root and without the capabilities that a runtime gives by itself',
  { skip },
  async (t) => {
    if (process.env.ENACTOR_IMAGE === undefined)
      execFileSync('node_modules/.bin/bun', ['.ci/image.ts', '--level', '1'], {
        stdio: 'inherit',
        timeout: IMPORT_TIMEOUT_MS,
      });
    const [image = ''] = readdirSync('dist/image').filter((name) => name.endsWith('.tar'));
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
    const folder = mkdtempSync(join(tmpdir(), 'e-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const netns = await makeBareNetns();
    t.teardown(() => netns.remove());
    const place = {
      netns: netns.path,
      runDir: `${folder}/run`,
      cniBinDir: `${folder}/bin`,
      cniConfDir: `${folder}/conf`,
    };
    await linkPlugins(place.cniBinDir, [join(DEBIAN_CNI_FOLDER, 'loopback')]);
    const containerd = await startContainerd(place);
    t.teardown(() => containerd.stop());
    const ctr = (...args: readonly string[]) =>
      spawnSync('ctr', ['--address', `${place.runDir}/containerd.sock`, '--namespace', 'k8s.io', ...args], {
        encoding: 'utf8',
        timeout: IMPORT_TIMEOUT_MS,
      });
    const imported = ctr('images', 'import', join('dist/image', image));
    t.equal(imported.status, 0, imported.stderr);
    t.match(ctr('images', 'ls').stdout, new RegExp(`localhost/enactor:${version}`));

    const caps = [
      'CHOWN',
      'DAC_OVERRIDE',
      'FSETID',
      'FOWNER',
      'MKNOD',
      'NET_RAW',
      'SETGID',
      'SETUID',
      'SETFCAP',
      'SETPCAP',
    ];
    const others = ['NET_BIND_SERVICE', 'SYS_CHROOT', 'KILL', 'AUDIT_WRITE'];
    const dropped = [...caps, ...others].flatMap((name) => ['--cap-drop', `CAP_${name}`]);
    let serial = 0;
    const run = (...command: readonly string[]) => {
      serial += 1;
      const container = `t${serial}`;
      // Its standard streams are pipes below /run/containerd, which is this runtime's own: detached, the log is what tells.
      const log = `${folder}/${container}.log`;
      const options = ['--read-only', '--net-host', '--log-uri', `file://${log}`, '--detach', ...dropped];
      const started = ctr('run', ...options, `localhost/enactor:${version}`, container, ...command);
      t.equal(started.status, 0, started.stderr);
      for (let left = 100; left > 0; left -= 1) {
        if (
          /STOPPED/.test(
            ctr('tasks', 'ls')
              .stdout.split('\n')
              .find((line) => line.startsWith(container)) ?? '',
          )
        )
          break;
        spawnSync('sleep', ['0.2']);
      }
      ctr('tasks', 'rm', container);
      ctr('containers', 'rm', container);
      return readFileSync(log, 'utf8');
    };
    t.match(run('/usr/bin/enactord', '--help'), /Gives the pods of this node addresses/);
    t.match(run('/usr/bin/enactor', 'plan', '--type', 'ecs.g7.xlarge', '--pods', '30'), /pods that fit/);
    t.match(run('/usr/bin/node', '-e', "try{fs.writeFileSync('/x','')}catch(e){console.log(e.code)}"), /EROFS/);
    t.match(
      run('/usr/bin/node', '-p', "/CapEff:\\s*(\\w+)/.exec(fs.readFileSync('/proc/self/status','utf8'))[1]"),
      /^0+$/m,
    );
  },
);
