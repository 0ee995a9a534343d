import { parseArgs } from 'node:util';
import type { Compared } from './compare.js';
import { compareEvm } from './evm.js';
import { compareRelay } from './relay.js';
import { compareSandbox } from './sandbox.js';
import { compareSolana } from './solana.js';

/** What each rail asks of its chain, facilitator or carrier beside the one bare call that it cannot do without. */
const { values: options } = parseArgs({ options: { times: { type: 'string', default: '200' } } });
const times = Number(options.times);
const rows: Compared[] = [];
for (const rail of [compareSandbox, compareEvm, compareSolana, compareRelay]) rows.push(...(await rail(times)));
const width = Math.max(...rows.map(({ what }) => what.length));
const bareWidth = Math.max(...rows.map(({ bare }) => bare.length));
console.log(`\n${times} times each, one after the other, in turns; milliseconds\n`);
console.log(`${''.padEnd(width)}  ${'bare call'.padEnd(bareWidth)}     p50     p99    ours p50     p99   ratio`);
for (const { what, bare, bareMs, oursMs } of rows) {
  const cells = [bareMs.p50.toFixed(2).padStart(7), bareMs.p99.toFixed(2).padStart(7), oursMs.p50.toFixed(2).padStart(11), oursMs.p99.toFixed(2).padStart(7), (oursMs.p50 / bareMs.p50).toFixed(1).padStart(7)];
  console.log(`${what.padEnd(width)}  ${bare.padEnd(bareWidth)} ${cells.join(' ')}`);
}
