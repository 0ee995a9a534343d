import type { MessageBus } from '@market/messaging';
import type { PaymentsLedgerConfig } from '../config.js';
import type { PaymentRail, PricedOffer } from './payment-rail.js';
import { RelayRail } from './relay/relay.rail.js';
import type { SellerWallets } from './seller-wallets.js';
import { AuthorizationsOnChain } from './x402/authorizations-on-chain.js';
import { evmRequirements } from './x402/exact-evm.js';
import { solanaRequirements } from './x402/exact-solana.js';
import type { Facilitator } from './x402/facilitator.js';
import { HttpFacilitator } from './x402/http-facilitator.js';
import { LocalFacilitator } from './x402/local-facilitator.js';
import { LocalSolanaFacilitator } from './x402/local-solana-facilitator.js';
import { TransactionsOnSolana } from './x402/transactions-on-solana.js';
import { X402Rail } from './x402/x402.rail.js';
import { evmChainsOf, solanaChainsOf } from './x402/x402-settings.js';

/** Returns the rails that the operator's variables enable. */
export const configuredRails = (
  config: PaymentsLedgerConfig,
  bus: MessageBus,
  sellers: SellerWallets,
): PaymentRail[] => [...x402Rails(config, sellers), ...relayRails(config, bus)];

function x402Rails(config: PaymentsLedgerConfig, sellers: SellerWallets): PaymentRail[] {
  const { x402Chains, facilitatorKey, facilitatorSolanaKey } = config;
  const payTo = config.x402PayTo === 'seller' ? sellers : config.x402PayToAddress;
  if (!x402Chains || !payTo) return [];
  const [evm, solana] = [evmChainsOf(x402Chains, config.x402Usdc), solanaChainsOf(x402Chains)];
  const remote = remoteFacilitator(config);
  const minimumMicros = BigInt(config.minimumX402Micros);
  const rails: PaymentRail[] = [];
  const onEvm = remote ?? (facilitatorKey && new LocalFacilitator(evm, facilitatorKey));
  if (onEvm && evm.length > 0) {
    const networks = evm.map((chain) => ({
      network: chain.network,
      witness: new AuthorizationsOnChain(chain, config.x402RpcTimeoutMs),
      requirements: (offer: PricedOffer) => evmRequirements(offer, chain.usdc),
    }));
    rails.push(new X402Rail({ id: 'x402', chainType: 'evm', payTo, networks, minimumMicros, facilitator: onEvm }));
  }
  const onSolana = remote ?? (facilitatorSolanaKey && new LocalSolanaFacilitator(solana, facilitatorSolanaKey));
  if (onSolana && solana.length > 0) {
    // Requests the fee payer in advance, so that it is known for the first offer.
    onSolana.feePayerOf(solana[0]!.network);
    const networks = solana.map((chain) => ({
      network: chain.network,
      witness: new TransactionsOnSolana(chain, config.x402RpcTimeoutMs),
      requirements: (offer: PricedOffer, feePayer = onSolana.feePayerOf(chain.network)) =>
        feePayer === null ? null : solanaRequirements(offer, chain.usdc, feePayer),
    }));
    rails.push(
      new X402Rail({
        id: 'x402-solana',
        chainType: 'solana',
        payTo: sellers,
        networks,
        minimumMicros,
        facilitator: onSolana,
      }),
    );
  }
  return rails;
}

const remoteFacilitator = ({
  facilitatorUrl: url,
  facilitatorApiKey: apiKey,
  facilitatorTimeoutMs: timeoutMs,
}: PaymentsLedgerConfig): Facilitator | undefined =>
  url ? new HttpFacilitator({ url, apiKey, timeoutMs }) : undefined;

/** Relay comes last, because a transfer between two wallets of one chain costs less. */
function relayRails(config: PaymentsLedgerConfig, bus: MessageBus): PaymentRail[] {
  const {
    relayUrl: url,
    relayApiKey: apiKey,
    relayRoutes: routes,
    relayDestination: destination,
    relayFeeRecipient: feeRecipient,
  } = config;
  if (!url || !apiKey) return [];
  return [
    new RelayRail(
      {
        url,
        apiKey,
        routes,
        destination,
        feeRecipient,
        referrer: config.relayReferrer,
        ttlSeconds: config.offerTtlSeconds,
        mostCostMicros: BigInt(config.relayMaxCostMicros),
        quotesPerMinute: config.relayQuotesPerMinute,
        statusesPerMinute: config.relayStatusesPerMinute,
        timeoutMs: config.relayTimeoutMs,
      },
      bus,
    ),
  ];
}
