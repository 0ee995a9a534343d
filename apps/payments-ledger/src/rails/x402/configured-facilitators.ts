import type { PaymentsLedgerConfig } from '../../config.js';
import { isSolana } from './exact-payment.js';
import type { Facilitator } from './facilitator.js';
import { apiKeysOf, facilitatorsOn } from './facilitator-settings.js';
import { Facilitators } from './facilitators.js';
import type { Nonces } from './gas-accounts.js';
import { HttpFacilitator } from './http-facilitator.js';
import { LocalFacilitator } from './local-facilitator.js';
import { LocalSolanaFacilitator } from './local-solana-facilitator.js';
import type { SolanaChain, X402Chain } from './x402-settings.js';

/** The facilitators that the operator's variables name, by network in order, and together. */
export function configuredFacilitators(
  config: PaymentsLedgerConfig,
  evm: X402Chain[],
  solana: SolanaChain[],
  nonces?: Nonces,
): { orders: Map<string, Facilitator[]>; facilitators: Facilitators } {
  const isOwn = ({ network }: { network: string }): boolean =>
    facilitatorsOn(network, config).some((each) => each.isOwn);
  const [ownEvm, ownSolana] = [evm.filter(isOwn), solana.filter(isOwn)];
  const { facilitatorKey, facilitatorSolanaKey, cdpApiKeyId: id, cdpApiKeySecret: secret } = config;
  const local =
    ownEvm.length > 0
      ? new LocalFacilitator(ownEvm, facilitatorKey!, config.x402CoinPrices, nonces, config.x402WalletFactories)
      : undefined;
  const localSolana = ownSolana.length > 0 ? new LocalSolanaFacilitator(ownSolana, facilitatorSolanaKey!) : undefined;
  const apiKeys = apiKeysOf(config);
  const remote = new Map<string, HttpFacilitator>();
  const remoteAt = (url: string, isCdp: boolean): HttpFacilitator => {
    const known =
      remote.get(url) ??
      new HttpFacilitator({
        url,
        timeoutMs: config.facilitatorTimeoutMs,
        ...(isCdp ? { cdpKey: { id: id!, secret: secret! } } : { apiKey: apiKeys.get(new URL(url).host) }),
      });
    remote.set(url, known);
    return known;
  };
  const orders = new Map(
    [...evm, ...solana].map(({ network }) => [
      network,
      facilitatorsOn(network, config).map((choice) =>
        choice.isOwn ? (isSolana(network) ? localSolana! : local!) : remoteAt(choice.url, choice.isCdp),
      ),
    ]),
  );
  return { orders, facilitators: new Facilitators((network) => orders.get(network) ?? []) };
}
