import type { Address } from 'viem';
import { startEvmHarness, type EvmHarness } from './evm-harness.js';
import { startLedger, type LedgerHarness } from './ledger-harness.js';
import { serveFacilitatorOf, type RemoteFacilitator } from './remote-facilitator.js';

export const ON_CHAIN = { originChainId: '31337' };
/** The operator's address. Fees are paid to it, and in one mode all signed payments. */
export const OPERATOR: Address = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C';
export const TO_OPERATOR = {
  PAYMENTS_LEDGER_X402_PAY_TO: 'operator',
  PAYMENTS_LEDGER_X402_PAY_TO_ADDRESS: OPERATOR,
};

/**
 * The ledger with its x402 rail on its own chain, where `usdc` is the USDC contract, and a facilitator with
 * configurable faults.
 */
export interface X402Ledger {
  chain: EvmHarness;
  facilitator: RemoteFacilitator;
  ledger: LedgerHarness;
  usdc: Address;
  env: Record<string, string>;
  stop: LedgerHarness['stop'];
}

/** @param changes of the environment; some depend on the chain and on the facilitator. */
export async function startX402Ledger(
  changes:
    | Record<string, string>
    | ((facilitator: RemoteFacilitator, chain: EvmHarness) => Promise<Record<string, string>>) = {},
  { token = 'SignedToken', withPermit2 = false }: { token?: 'SignedToken' | 'PlainToken'; withPermit2?: boolean } = {},
): Promise<X402Ledger> {
  const chain = await startEvmHarness();
  const usdc = await chain.deploy(token);
  await chain.send(usdc, 'mint', [chain.payer, 10n ** 15n]);
  if (withPermit2) await chain.placePermit2(usdc);
  const facilitator = await serveFacilitatorOf(chain);
  const env = {
    PAYMENTS_LEDGER_X402_CHAINS: `eip155:31337=${chain.node.url}`,
    PAYMENTS_LEDGER_X402_USDC: `eip155:31337=${usdc}`,
    PAYMENTS_LEDGER_FEE_ADDRESS: OPERATOR,
    PAYMENTS_LEDGER_X402_FACILITATOR_URL: facilitator.url,
    PAYMENTS_LEDGER_X402_FACILITATOR_API_KEY: 'secret',
    ...(typeof changes === 'function' ? await changes(facilitator, chain) : changes),
  };
  const ledger = await startLedger({ env });
  return {
    chain,
    facilitator,
    ledger,
    usdc,
    env,
    stop: (options) =>
      ledger.stop(options).finally(() => {
        facilitator.stop();
        return chain.stop();
      }),
  };
}
