import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { answersOn } from './answers-on.js';
import { freePort } from './free-port.js';
import { startOwnProcess } from './own-process.js';

export interface EvmNode {
  readonly url: string;
  readonly chainId: number;
  /** Ten funded accounts come from it. */
  readonly mnemonic: string;
  request<T>(method: string, params?: unknown[]): Promise<T>;
  /** Two blocks after a block it is finalized. */
  mine(blocks: number): Promise<void>;
  stop(): Promise<void>;
}

const MNEMONIC = 'test test test test test test test test test test test junk';

/** A real EVM chain of one's own (anvil, from npm): a block for each transaction, the last but two final. */
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

/** The program of this platform that the npm package brings. */
function anvil(): string {
  const cpu = process.arch === 'x64' ? 'amd64' : process.arch;
  const name = `@foundry-rs/anvil-${process.platform}-${cpu}`;
  try {
    const program = join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'bin', 'anvil');
    if (existsSync(program)) return program;
  } catch {
    // Told below, with what to do.
  }
  throw new Error(`${name} is needed here and is not installed: npm ci brings it on the platforms it is made for`);
}
