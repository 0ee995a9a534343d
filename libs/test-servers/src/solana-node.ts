import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RpcCall } from './solana-rpc.js';

/**
 * `refuse` answers 503 and `hang` never answers; neither executes the request. `swallow` executes it and then closes
 * the connection.
 */
export type RpcFault = 'refuse' | 'hang' | 'swallow';

export interface SolanaNode {
  readonly url: string;
  /** The id of devnet, because x402 clients know only the public clusters. */
  readonly network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
  /** The mint, with six decimals. */
  readonly usdc: string;
  /** Gives an owner a token account with this balance, and one SOL. */
  fund(owner: string, baseUnits: bigint): Promise<void>;
  /** Gives an owner an empty token account and returns its address. */
  openTokenAccount(owner: string): Promise<string>;
  /** Returns the balance of USDC; 0 without a token account. */
  balanceOf(owner: string): Promise<bigint>;
  setLamports(owner: string, lamports: bigint): void;
  /** Makes blocks. Every accepted transaction also makes one. */
  mine(blocks: number): void;
  /**
   * Called before each request, in the order of a batch. The first fault that it returns applies to the whole batch.
   */
  onRequest?: (method: string, params: readonly unknown[]) => RpcFault | undefined | Promise<RpcFault | undefined>;
  stop(): Promise<void>;
}

/**
 * The JSON-RPC of a Solana node with its own chain, in this process. Signatures, fees and programs are those of a
 * validator (litesvm). A block is made for each transaction and is `confirmed` at once. Only the last state of accounts
 * is stored, for every commitment.
 */
export async function startSolanaNode({ blocksToFinality = 32 } = {}): Promise<SolanaNode> {
  // Imported here, because every test loads this library and few need the runtime.
  const { SolanaChain, USDC } = await import('./solana-chain.js');
  const { answerTo, methodsOf } = await import('./solana-rpc.js');
  const chain = new SolanaChain(blocksToFinality);
  const methods = methodsOf(chain);
  const server = createServer((request, response) => {
    void (async () => {
      const body = JSON.parse(Buffer.concat(await request.toArray()).toString()) as RpcCall | RpcCall[];
      let fault: RpcFault | undefined;
      for (const { method, params = [] } of [body].flat()) fault ??= await node.onRequest?.(method, params);
      if (fault === 'hang') return;
      if (fault === 'refuse') return void response.writeHead(503).end('Service Unavailable');
      const answers = [body].flat().map((call) => answerTo(methods, call));
      if (fault === 'swallow') return void request.socket.destroy();
      const bigintAsNumber = (_: string, value: unknown) => (typeof value === 'bigint' ? Number(value) : value);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(Array.isArray(body) ? answers : answers[0], bigintAsNumber));
    })().catch((error: unknown) => response.writeHead(400).end(String(error)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const node: SolanaNode = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
    usdc: USDC,
    fund: async (owner, baseUnits) => {
      await chain.setTokens(owner, baseUnits);
      chain.setLamports(owner, 1_000_000_000n);
    },
    openTokenAccount: (owner) => chain.setTokens(owner, 0n),
    balanceOf: async (owner) => BigInt(chain.tokenAccount(await chain.tokenAddress(owner))?.uiTokenAmount.amount ?? 0),
    setLamports: (owner, lamports) => chain.setLamports(owner, lamports),
    mine: (blocks) => chain.mine(blocks),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return node;
}
