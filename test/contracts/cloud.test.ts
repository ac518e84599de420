import t from 'tap';
import { ecsCloud } from '../../src/adapters/ecs/ecs-cloud.ts';
import { runCloud } from '../../src/lab/cloud/run-cloud.ts';
import { fakeCloud } from '../../src/simulation/fake-cloud.ts';
import { Life } from '../../src/simulation/life.ts';
import { VirtualCloud } from '../../src/simulation/virtual-cloud.ts';
import { VpcModel } from '../../src/vpc/model.ts';
import { defaultSettings } from '../../src/vpc/settings.ts';
import { defaultTopology } from '../../src/vpc/topology.ts';
import { labCredentials } from '../adapters/credentials/lab-credentials.ts';
import { runningClock } from '../simulation/running-clock.ts';
import { cloudContract } from './cloud.ts';

const TIMEOUT_MS = 1_000;

cloudContract(
  t,
  'ecs over HTTP',
  async (t, settings) => {
    const topology = defaultTopology('ecs.g7.large', 1);
    const running = await runCloud({ listen: '127.0.0.1:0', profile: 'fast', topology, settings });
    t.teardown(() => running.close());
    const { live, model } = running;
    const endpoint = new URL(running.url).host;
    return {
      cloud: ecsCloud({
        credentials: labCredentials(),
        region: async () => topology.regionId,
        ecsEndpoint: endpoint,
        vpcEndpoint: endpoint,
        scheme: 'http',
        timeoutMs: TIMEOUT_MS,
        rateLimits: {},
        minuteMs: 60,
      }),
      model,
      nowMs: () => live.nowMs(),
      plant: (fault) => live.gateway.faults.plant(fault),
      release: (id) => {
        live.gateway.faults.remove(id);
        live.release(id);
      },
      pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      lastCall: (api) => live.gateway.ledger.read(0, api).at(-1),
    };
  },
  TIMEOUT_MS,
);

cloudContract(
  t,
  'fake cloud',
  async (t, settings) => {
    const clock = runningClock(t, 1_700_000_000_000);
    const model = new VpcModel({
      topology: defaultTopology('ecs.g7.large', 1),
      nowMs: clock.nowMs(),
      settings: { ...defaultSettings('fast'), ...settings },
    });
    const cloud = new VirtualCloud(model, clock);
    return {
      cloud: fakeCloud({ cloud, life: new Life(1, clock), timeoutMs: TIMEOUT_MS, wireMs: () => 1 }),
      model,
      nowMs: clock.nowMs,
      plant: (fault) => cloud.gateway.faults.plant(fault),
      release: (id) => cloud.release(id),
      pass: (ms) => new Promise((resolve) => void clock.after(ms, resolve)),
      lastCall: (api) => cloud.gateway.ledger.read(0, api).at(-1),
    };
  },
  TIMEOUT_MS,
);
