/**
 * The layer rule as an allow-list: what a folder may import, and nothing else. Tests may import anything.
 * A folder that is missing here may import nothing, so a new one has to be placed first.
 */
const pure = ['^node_modules/(ipaddr\\.js)/'];
const { builtinModules } = require('node:module');
const anyPackage = ['^node_modules/', `^(node:)?(${builtinModules.join('|')})$`, '^bun:ffi$'];
const layers = {
  // The package tells its version.
  '^src/core/': ['^src/core/', ...pure, '^node_modules/zod/', '^package\\.json$'],
  '^src/ports/': ['^src/(core|ports)/'],
  '^src/vpc/': ['^src/(core|vpc)/'],
  '^statecharts/': ['^src/(core|ports)/', '^statecharts/', '^node_modules/xstate/'],
  // Charts as data, drawn: also in a browser, so that nothing of Node's is in it.
  '^src/charts/': ['^src/ports/chart-data\\.ts$', '^src/charts/', '^node_modules/elkjs/'],
  '^actors/': ['^src/(core|ports)/', '^statecharts/', '^actors/', '^node_modules/xstate/'],
  '^src/adapters/': ['^src/(core|ports|adapters)/', ...anyPackage],
  // Of the adapters only those that hold what ends: they reach the world through what they are given.
  '^src/simulation/': [
    '^src/(core|ports|vpc|simulation)/',
    '^(statecharts|actors)/',
    '^src/adapters/(credentials|metadata)/',
    '^src/adapters/kubernetes/kept-credentials\\.ts$',
    ...anyPackage,
  ],
  '^src/plugin/': ['^src/(core|ports|plugin)/', '^src/adapters/(netlink|datapath|http)/', '^src/adapters/grpc/unary-client\\.ts$', ...anyPackage],
  '^src/daemon/': ['^src/(core|ports|adapters|daemon)/', '^(statecharts|actors)/', ...anyPackage],
  '^src/lab/': ['^src/(core|ports|adapters|vpc|lab)/', ...anyPackage],
  // The page in the browser: what it shares with its server is types and pure code.
  '^src/inspect/page/': ['^src/(core|ports|charts)/', '^src/inspect/(page/|told\\.ts$)'],
  '^src/inspect/': [
    '^src/(core|ports|charts|adapters|inspect|simulation)/',
    '^(statecharts|actors)/',
    ...anyPackage,
  ],
  // Experiments with a cloud; of the simulated one it knows the settings, in which it tells what it found.
  '^src/verify/': ['^src/(core|ports|adapters|verify)/', '^src/vpc/(settings|cloud-profile)\\.ts$', ...anyPackage],
  '^src/cli/': ['^src/(core|ports|adapters|lab|charts|inspect|verify|cli)/', '^src/vpc/(instance-types|cloud-profile|settings)', '^(statecharts|actors)/', ...anyPackage],
  '^test/': ['.*'],
};

module.exports = {
  forbidden: [
    {
      name: 'no-import-cycle',
      comment: 'Two files that need each other hold one concept, or a third one is missing: move what both need down.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    ...Object.entries(layers).map(([from, to]) => ({
      name: `layer ${from}`,
      comment: 'Not in the allow-list of this layer (.dependency-cruiser.cjs): reach it through a port, or move the code.',
      severity: 'error',
      from: { path: from },
      to: { pathNot: to },
    })),
    {
      name: 'unplaced',
      comment: 'This folder has no entry in the allow-list.',
      severity: 'error',
      from: { path: '^(src|statecharts|actors)/', pathNot: Object.keys(layers) },
      to: {},
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist/' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
