import type { Check } from './define-check.js';

interface ExpectedChain {
  /** The variable that names the server. */
  variable: string;
  url: string;
  chainId: number;
  /** A token contract that must have this number of decimals. */
  token?: { address: string; decimals: number; variable: string };
}

const TIMEOUT_MS = 5_000;
/** Longer than the block time of any chain that settles payments. */
const MAX_HEAD_AGE_SECONDS = 300;
/** `decimals()` of ERC-20. */
const DECIMALS = '0x313ce567';

/**
 * Checks that a JSON-RPC server of an EVM chain serves the right chain, is up to date, and has the token. The URL may
 * contain a key and is not shown.
 */
export const rpcServerCheck = ({ variable, url, chainId, token }: ExpectedChain): Check => ({
  variable,
  subject: `RPC server ${new URL(url).host} of chain ${chainId}`,
  async problems() {
    const ask = requester(url);
    const serves = Number(await ask('eth_chainId'));
    if (serves !== chainId) return [`${variable}: the server of chain ${chainId} serves chain ${serves}`];
    const head = (await ask('eth_getBlockByNumber', ['latest', false])) as { timestamp: string } | null;
    const age = Math.round(Date.now() / 1_000 - Number(head?.timestamp));
    const problems =
      age > MAX_HEAD_AGE_SECONDS
        ? [`${variable}: the newest block of the server of chain ${chainId} is ${age} seconds old; it does not keep up`]
        : [];
    if (token) {
      const answer = await ask('eth_call', [{ to: token.address, data: DECIMALS }, 'latest']);
      if (answer === '0x')
        problems.push(`${token.variable}: there is no token at ${token.address} on chain ${chainId}`);
      else if (Number(answer) !== token.decimals)
        problems.push(
          `${token.variable}: the token ${token.address} of chain ${chainId} has ${Number(answer)} decimals, ` +
            `and USDC has ${token.decimals}`,
        );
    }
    return problems;
  },
});

const requester =
  (url: string) =>
  async (method: string, params: unknown[] = []): Promise<unknown> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!response.ok) throw new Error(`it answers ${response.status}`);
    const { result, error } = (await response.json()) as { result?: unknown; error?: { message: string } };
    if (error) throw new Error(`${method}: ${error.message}`);
    if (result === undefined) throw new Error(`${method}: its answer is not JSON-RPC`);
    return result;
  };
