import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { answersOn } from './answers-on.js';
import { freePort } from './free-port.js';
import { startOwnProcess } from './own-process.js';

export interface EvmNode {
  readonly url: string;
  readonly chainId: number;
  /** The mnemonic of ten funded accounts. */
  readonly mnemonic: string;
  request<T>(method: string, params?: unknown[]): Promise<T>;
  /** A block is finalized when two more blocks follow it. */
  mine(blocks: number): Promise<void>;
  stop(): Promise<void>;
}

const MNEMONIC = 'test test test test test test test test test test test junk';

/**
 * Starts a real EVM chain (anvil, from npm). It makes a block for each transaction, and all but the last two blocks are
 * final.
 */
export async function startEvmNode({ chainId = 31_337 } = {}): Promise<EvmNode> {
  const port = await freePort();
  const node = startOwnProcess(anvil(), [
    '--port',
    String(port),
    '--chain-id',
    String(chainId),
    '--slots-in-an-epoch',
    '1',
    '--mnemonic',
    MNEMONIC,
  ]);
  await answersOn(port, node, { hello: 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n', greeting: /^HTTP\/1\.1/ });
  const url = `http://127.0.0.1:${port}`;
  const request = async <T>(method: string, params: unknown[] = []): Promise<T> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    const answer = (await response.json()) as { result: T; error?: { message: string } };
    if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
    return answer.result;
  };
  return {
    url,
    chainId,
    mnemonic: MNEMONIC,
    request,
    mine: async (blocks) => request('anvil_mine', [`0x${blocks.toString(16)}`]),
    stop: async () => void (await node.stop('SIGKILL')),
  };
}

/** Returns the path of the program that the npm package provides for this platform. */
function anvil(): string {
  const cpu = process.arch === 'x64' ? 'amd64' : process.arch;
  const name = `@foundry-rs/anvil-${process.platform}-${cpu}`;
  try {
    const program = join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'bin', 'anvil');
    if (existsSync(program)) return program;
  } catch {
    // The error below says what to do.
  }
  throw new Error(`${name} is needed here and is not installed: npm ci brings it on the platforms it is made for`);
}
