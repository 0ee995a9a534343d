import type { MessageBus } from '@market/messaging';
import { Logger } from '@nestjs/common';
import type { PaymentsLedgerConfig } from '../config.js';
import type { PaymentRail, PricedOffer } from './payment-rail.js';
import { relayRails } from './relay/relay-rails.js';
import type { SellerWallets } from './seller-wallets.js';
import { AuthorizationsOnChain } from './x402/authorizations-on-chain.js';
import { configuredFacilitators } from './x402/configured-facilitators.js';
import { evmRequirements } from './x402/exact-evm.js';
import { solanaRequirements } from './x402/exact-solana.js';
import type { Nonces } from './x402/gas-accounts.js';
import { withTokenDomains } from './x402/token-facts.js';
import { TransactionsOnSolana } from './x402/transactions-on-solana.js';
import { X402Rail } from './x402/x402.rail.js';
import { evmChainsOf, solanaChainsOf } from './x402/x402-settings.js';

/** The rails that the operator's variables enable. Relay is last, because a transfer between two wallets of one chain costs less. */
export const configuredRails = async (
  config: PaymentsLedgerConfig,
  bus: MessageBus,
  sellers: SellerWallets,
  nonces?: Nonces,
): Promise<PaymentRail[]> => [...(await x402Rails(config, sellers, nonces)), ...relayRails(config, bus)];

async function x402Rails(
  config: PaymentsLedgerConfig,
  sellers: SellerWallets,
  nonces: Nonces | undefined,
): Promise<PaymentRail[]> {
  const { x402Chains } = config;
  const payTo = config.x402PayTo === 'seller' ? sellers : config.x402PayToAddress;
  if (!x402Chains || !payTo) return [];
  const logger = new Logger('Rails');
  const evm = await withTokenDomains(
    evmChainsOf(x402Chains, config.x402Usdc, config.x402Eip712),
    config.x402RpcTimeoutMs,
    (message) => logger.warn(message),
  );
  const solana = solanaChainsOf(x402Chains);
  const { facilitators } = configuredFacilitators(config, evm, solana, nonces);
  const minimumMicros = BigInt(config.minimumX402Micros);
  const rails: PaymentRail[] = [];
  if (evm.length > 0) {
    const networks = evm.map((chain) => ({
      network: chain.network,
      witness: new AuthorizationsOnChain(chain, config.x402RpcTimeoutMs),
      requirements: (offer: PricedOffer) => evmRequirements(offer, chain.usdc, chain.domain, chain.byPermit2),
    }));
    rails.push(new X402Rail({ id: 'x402', chainType: 'evm', payTo, networks, minimumMicros, facilitators }));
  }
  if (solana.length > 0) {
    const networks = solana.map((chain) => ({
      network: chain.network,
      witness: new TransactionsOnSolana(chain, config.x402RpcTimeoutMs),
      requirements: (offer: PricedOffer, feePayer = facilitators.feePayerOf(chain.network)) =>
        feePayer === null ? null : solanaRequirements(offer, chain.usdc, feePayer),
    }));
    rails.push(
      new X402Rail({
        id: 'x402-solana',
        chainType: 'solana',
        payTo: sellers,
        networks,
        minimumMicros,
        facilitators,
      }),
    );
  }
  return rails;
}
