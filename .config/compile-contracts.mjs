/**
 * `npm run contracts`: compiles the Solidity contracts of the tests to the JSON file beside each. The compiler comes by npx, because
 * nothing else needs its 10 MB.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const names = readdirSync('apps', { recursive: true }).filter((name) => name.endsWith('.sol'));
for (const path of names.map((name) => join('apps', name))) {
  const content = readFileSync(path, 'utf8');
  const settings = { outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } };
  const input = JSON.stringify({ language: 'Solidity', sources: { file: { content } }, settings });
  const answer = execFileSync('npx', ['--yes', '--package=solc@0.8.37', 'solcjs', '--standard-json'], { input });
  const { contracts, errors = [] } = JSON.parse(answer.subarray(answer.indexOf('{')));
  for (const { formattedMessage } of errors) console.error(formattedMessage);
  if (errors.some(({ severity }) => severity === 'error')) process.exit(1);
  const compiled = Object.entries(contracts.file).map(([name, { abi, evm }]) => [
    name,
    { abi, bytecode: `0x${evm.bytecode.object}` },
  ]);
  const sourceHash = createHash('sha256').update(content).digest('hex');
  writeFileSync(
    path.replace(/sol$/, 'json'),
    `${JSON.stringify({ sourceHash, contracts: Object.fromEntries(compiled) })}\n`,
  );
}
