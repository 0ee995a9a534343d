import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

export interface CompiledContract<Abi> {
  abi: Abi;
  bytecode: `0x${string}`;
}

interface Output {
  contracts: Record<string, Record<string, { abi: never; evm: { bytecode: { object: string } } }>>;
  errors?: { severity: string; formattedMessage: string }[];
}

/** The contracts of one file, by name. @throws Error with what the compiler says when it is not right. */
export function compileSolidity<Abi>(file: URL): Record<string, CompiledContract<Abi>> {
  const compiler = createRequire(import.meta.url)('solc') as { compile(input: string): string };
  const sources = { file: { content: readFileSync(file, 'utf8') } };
  const settings = { outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } };
  const input = JSON.stringify({ language: 'Solidity', sources, settings });
  const { contracts, errors = [] } = JSON.parse(compiler.compile(input)) as Output;
  const wrong = errors.filter(({ severity }) => severity === 'error');
  if (wrong.length > 0) throw new Error(wrong.map(({ formattedMessage }) => formattedMessage).join('\n'));
  const compiled = Object.entries(contracts['file']!);
  return Object.fromEntries(
    compiled.map(([name, { abi, evm }]) => [name, { abi, bytecode: `0x${evm.bytecode.object}` }]),
  );
}
