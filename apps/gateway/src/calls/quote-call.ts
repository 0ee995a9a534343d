import type { CallableOffering } from '@market/contracts/catalog';
import { executeCall } from '@market/contracts/gateway';
import { findPayerWallet } from '@market/contracts/identity';
import { createOffer, type takeIncludedCall } from '@market/contracts/payments-ledger';
import type { OutputOf } from '@market/contracts';
import { newId } from '@market/kernel';
import { isRefusal, MessageBus, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import { mayStream } from '../contents/contents.js';
import type { CallableEndpoint } from '../endpoints/callable-endpoints.js';
import { heldSecondsOf } from '../endpoints/job-seconds.query.js';
import type { CallOutput, PaymentProblem } from './call-output.js';
import { CallKeys } from './call-keys.js';
import { CallRecords } from './call-records.js';
import { soldListingOf, type CallInput } from './call-target.js';
import { countStep } from './metrics.js';
import type { ValidatedCall } from './validate-call.js';

export type IncludedCalls = Extract<OutputOf<typeof takeIncludedCall>, { outcome: 'none' }>['included'];
type Wallet = OutputOf<typeof findPayerWallet>;

/** The chain types by CAIP-2 namespace. */
const CHAIN_TYPES: Record<string, string> = { eip155: 'evm', solana: 'solana' };

/** A call that a signature pays and that is not settled, delivered or answered yet. */
interface OpenCall {
  outcome: 'open';
  relayRequestId: string;
}

/** Offers a payment for a call. A repeated request returns the same offer until it expires. */
@Injectable()
export class QuoteCall {
  constructor(
    private readonly bus: MessageBus,
    private readonly keys: CallKeys,
    private readonly records: CallRecords,
  ) {}

  /**
   * @param problem what is wrong with the payment that was sent; empty if none was sent.
   * @param included what is left of the calls that the listing gives for nothing, if it gives any.
   * @returns null if the call that the Idempotency-Key belongs to was delivered meanwhile. The new offer then expires
   * unpaid. If a signature pays the same call already, nothing is asked for: the request is that call again.
   */
  async execute(
    { input, digest, fingerprint }: ValidatedCall,
    offering: CallableOffering,
    { endpoint }: CallableEndpoint,
    problem: PaymentProblem,
    included: IncludedCalls | undefined,
    context: RequestContext,
  ): Promise<CallOutput | OpenCall | null> {
    const listing = soldListingOf(offering);
    const { originWalletId, originChainId } = input;
    const jobSeconds = heldSecondsOf(endpoint, offering);
    const wallet =
      originWalletId === undefined
        ? undefined
        : await this.bus.request(findPayerWallet, { walletId: originWalletId }, context);
    try {
      const { offer, otherRoutes, money, gatewayRequestId, isOpen } = await this.bus.request(
        createOffer,
        {
          gatewayRequestId: newId(),
          listing,
          priceMicros: offering.priceMicros,
          usage: offering.usage ?? undefined,
          bodyDigest: digest.toString('hex'),
          originCurrency: input.originCurrency ?? currencyOf(wallet, input),
          originChainId,
          originWalletId,
          jobSeconds,
        },
        context,
      );
      const buyerId = principalOf(context).accountId;
      // An offer that is not new is recorded too, because the process that made it may have died before it recorded the
      // quote.
      const quote = { id: gatewayRequestId, buyerId, listing, bodyDigest: digest, offer, money };
      await this.records.recordQuote(quote, context);
      if (isOpen) return { outcome: 'open', relayRequestId: offer.relay_request_id };
      const { network } = offer.requirements;
      if (wallet) assertSameChain(wallet, network);
      // Headers that were sent for an offer that has ended do not apply to the one that replaces it.
      if (problem.reason === undefined)
        assertRoute(input, { scheme: offer.retry_headers['X-Market-Payment-Scheme'] ?? '', network });
      const keyOwner = await this.keys.bind(context, fingerprint, gatewayRequestId);
      if (keyOwner !== gatewayRequestId) return null;
      countStep('quoted');
      const settles = settlesOf(offer.x402, jobSeconds, offering);
      return {
        outcome: 'payment_required',
        payment: { ...offer, other_routes: otherRoutes, settles, included },
        ...problem,
      };
    } catch (error) {
      if (isRefusal(error, createOffer, 'payment_route_minimum_not_met'))
        await this.keys.bind(context, fingerprint, null);
      throw error;
    }
  }
}

/** When what is signed for a call is settled, if that is not when its whole answer is stored. */
export function settlesOf(
  [own]: { maxTimeoutSeconds: number }[],
  jobSeconds: number | undefined,
  { formats }: CallableOffering,
): 'on_delivery' | 'on_acceptance' | 'on_first_event' | undefined {
  if (jobSeconds !== undefined) return own && own.maxTimeoutSeconds <= jobSeconds ? 'on_acceptance' : 'on_delivery';
  return mayStream(formats) ? 'on_first_event' : undefined;
}

/** The retry headers are optional, but if they are sent, they must match the offer. */
export function assertRoute(
  { paymentScheme, paymentNetwork, authorization }: CallInput,
  { scheme, network }: { scheme: string; network: string },
): void {
  const isSigned = authorization !== undefined && (paymentScheme === 'exact' || paymentScheme === 'upto');
  if ((!isSigned && (paymentScheme ?? scheme) !== scheme) || (paymentNetwork ?? network) !== network)
    throw refuse(executeCall, 'payment_route_mismatch', { scheme, network });
}

/** If the request names a wallet and no route, the offer is for a route that the wallet can pay. */
const currencyOf = (wallet: Wallet | undefined, { originChainId }: CallInput): 'SOL' | undefined =>
  wallet?.chainType === 'solana' && originChainId === undefined ? 'SOL' : undefined;

function assertSameChain({ chainType }: Wallet, network: string): void {
  if (CHAIN_TYPES[network.split(':')[0]!] !== chainType)
    throw refuse(executeCall, 'wallet_chain_mismatch', { wallet_chain_type: chainType, network });
}
