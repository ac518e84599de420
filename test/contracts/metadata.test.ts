import t from 'tap';
import { metadataService } from '../../src/adapters/metadata/metadata-service.ts';
import { runCloud } from '../../src/lab/cloud/run-cloud.ts';
import { fakeMetadata } from '../../src/simulation/fake-metadata.ts';
import { Life } from '../../src/simulation/life.ts';
import { VirtualCloud } from '../../src/simulation/virtual-cloud.ts';
import { VpcModel } from '../../src/vpc/model.ts';
import { defaultSettings } from '../../src/vpc/settings.ts';
import { defaultTopology } from '../../src/vpc/topology.ts';
import { runningClock } from '../simulation/running-clock.ts';
import { metadataContract } from './metadata.ts';

/** Long beside a read over HTTP on a busy machine. */
const LAG_MS = 1_000;
const topology = defaultTopology('ecs.g7.large', 1);
const fast = defaultSettings('fast');
const settings = { ...fast, delays: { ...fast.delays, metadataMacMs: LAG_MS, metadataAddressMs: 0 } };

metadataContract(
  t,
  'metadata over HTTP',
  async (t) => {
    const running = await runCloud({ listen: '127.0.0.1:0', profile: 'fast', topology, settings });
    t.teardown(() => running.close());
    return {
      of: (instanceId) => metadataService({ baseUrl: `${running.url}/metadata/${instanceId}`, pauseMs: 1 }),
      model: running.model,
      nowMs: () => running.live.nowMs(),
      pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    };
  },
  LAG_MS,
);

metadataContract(
  t,
  'fake metadata',
  async (t) => {
    const clock = runningClock(t, 1_700_000_000_000);
    const model = new VpcModel({ topology, nowMs: clock.nowMs(), settings });
    const cloud = new VirtualCloud(model, clock);
    const life = new Life(1, clock);
    return {
      of: (instanceId) => fakeMetadata({ cloud, instanceId, life, delayMs: () => 2 }),
      model,
      nowMs: clock.nowMs,
      pass: (ms) => new Promise((resolve) => void clock.after(ms, resolve)),
    };
  },
  LAG_MS,
);
