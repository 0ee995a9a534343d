/**
 * `npm run fire -- --size ci|night|full`: every test of libs/test-servers/src/threats, at this size, one after the other, and what
 * became of each threat. A failure stops nothing.
 *   --only M1, --only 'M.*', --only crash-points, --only .int-spec   threats by their row, or by a part of the name of a test file
 *   --seed 7                                        repeats a run
 *   --write                                         writes the outcomes into the table of docs/reliability.md
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { sizeOf, THREATS } from '../libs/test-servers/dist/threats/index.js';
import { writeOutcomes } from './reliability-table.mjs';

const { values } = parseArgs({
  options: {
    size: { type: 'string', default: 'ci' },
    only: { type: 'string', default: '' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    write: { type: 'boolean', default: false },
  },
});
const size = sizeOf(values.size);
const isMeant = (id, { file }) =>
  !values.only || new RegExp(`^(${values.only})$`).test(id) || basename(file).includes(values.only);
const rows = Object.entries(THREATS)
  .map(([id, { threat, proofs }]) => ({ id, threat, proofs: proofs.filter((proof) => isMeant(id, proof)) }))
  .filter(({ proofs }) => proofs.length > 0);
if (rows.length === 0) throw new Error(`no threat is ${values.only}, and no test file is called so`);

/** What `%s` in a title stands for is known to its test alone. */
const patternOf = ({ title }) =>
  title
    .split(/%[sijp]/)
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('.*');
const modesOf = ({ kind, mode }) => (kind !== 'e2e' ? [''] : size === 'ci' ? [mode] : ['standalone', 'distributed']);
// A small run starts what its tests share once for all of them; a large one tells of each file when it is through.
const batches = new Map();
const quickFirst = ['unit', 'int', 'e2e'].flatMap((kind) =>
  rows.flatMap(({ proofs }) => proofs.filter((proof) => proof.kind === kind)),
);
for (const proof of new Set(quickFirst))
  for (const mode of modesOf(proof)) {
    const name = [proof.kind, mode, ...(size === 'ci' ? [] : [proof.file])].join(' ');
    batches.set(name, [...(batches.get(name) ?? []), { proof, mode }]);
  }

const directory = mkdtempSync(join(tmpdir(), 'fire-'));
/** What became of the tests of each proof. */
const results = new Map();
for (const [name, batch] of batches) {
  console.log(`\n${name} --size ${size} --seed ${values.seed}`);
  const [{ proof, mode }] = batch;
  const outputFile = join(directory, 'results.json');
  rmSync(outputFile, { force: true });
  const proofs = batch.map((one) => one.proof);
  const args = [
    ...new Set(proofs.map(({ file }) => file)),
    ...['-t', `(${[...new Set(proofs.map(patternOf))].join('|')})`, '--json', '--outputFile', outputFile],
    ...['--silent', '--forceExit', ...(proof.kind === 'unit' ? [] : ['--runInBand'])],
  ];
  const run = spawn(process.execPath, ['.config/jest.mjs', proof.kind, ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      TEST_SIZE: size,
      TEST_SEED: values.seed,
      TEST_SERVERS: 'required',
      ...(mode && { MARKET_MODE: mode }),
    },
  });
  await once(run, 'exit');
  let tests = [];
  try {
    tests = JSON.parse(readFileSync(outputFile, 'utf8')).testResults.flatMap(({ name: file, assertionResults }) =>
      assertionResults.map((result) => ({ ...result, file })),
    );
  } catch (error) {
    console.log(`${name} ended without results: ${error}`);
  }
  for (const one of proofs) {
    const named = new RegExp(patternOf(one));
    const found = tests.filter(
      ({ file, fullName, status }) => file.endsWith(one.file) && named.test(fullName) && status !== 'pending',
    );
    // A test may be of one mode alone.
    if (found.length > 0) results.set(one, [...(results.get(one) ?? []), ...found]);
  }
}
rmSync(directory, { recursive: true });

const outcomes = rows.map(({ id, threat, proofs }) => {
  const found = proofs.map((proof) => results.get(proof) ?? []);
  return {
    id,
    threat,
    tests: [...new Set(proofs.map(({ file }) => basename(file).replace(/\.(int-|e2e-)?spec\.ts$/, '')))],
    counts: proofs.filter(({ counts }) => counts).map(({ counts, of }) => `${counts[size]} ${of}`),
    seconds: Math.round(found.flat().reduce((sum, { duration }) => sum + (duration ?? 0), 0) / 1_000),
    isPassed: found.every((tests) => tests.length > 0 && tests.every(({ status }) => status === 'passed')),
  };
});
console.log('');
for (const { id, threat, tests, counts, seconds, isPassed } of outcomes)
  console.log(
    [id.padEnd(4), isPassed ? 'passed' : 'FAILED', `${seconds} s`, threat, tests, counts.join(', ')].join('\t'),
  );
const failed = outcomes.filter(({ isPassed }) => !isPassed).map(({ id }) => id);
console.log(`\n${outcomes.length} threats, size ${size}, seed ${values.seed}; failed: ${failed.join(', ') || 'none'}`);
// A row is whole if all its tests were run.
const whole = outcomes.filter(({ id }, index) => THREATS[id].proofs.length === rows[index].proofs.length);
if (values.write) writeOutcomes(whole, { size, seed: values.seed });
process.exit(failed.length === 0 ? 0 : 1);
