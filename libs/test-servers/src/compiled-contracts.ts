import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

interface CompiledContract<Abi> {
  abi: Abi;
  bytecode: `0x${string}`;
}

/**
 * Returns the contracts of a Solidity file by name, as compiled by `npm run contracts`. @throws Error if the file has
 * changed since.
 */
export function compiledContracts<Abi>(file: URL): Record<string, CompiledContract<Abi>> {
  const { sourceHash, contracts } = JSON.parse(readFileSync(new URL(file.href.replace(/sol$/, 'json')), 'utf8')) as {
    sourceHash: string;
    contracts: Record<string, CompiledContract<Abi>>;
  };
  if (createHash('sha256').update(readFileSync(file)).digest('hex') !== sourceHash)
    throw new Error(`${file.pathname} is not what was compiled: npm run contracts`);
  return contracts;
}
