import type { InputOf, OutputOf } from '@market/contracts';
import { createListing, listingWorkSolved } from '@market/contracts/catalog';
import { microsFromUsdNumber, newId, usdNumber } from '@market/kernel';
import { HandleRequest, principalOf, Refusal, refuse, type RequestContext } from '@market/messaging';
import { Idempotency, Outbox, type Tx } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { Categories } from '../categories/categories.js';
import { ListingChallenges, type SolvedChallenge } from '../challenges/listing-challenges.js';
import { catalogConfig, type CatalogConfig } from '../config.js';
import { Endpoints, type ProvisionedEndpoint } from '../endpoints/endpoints.js';
import { isSeller } from '../providers/is-seller.js';
import { PayableSellers } from '../providers/payable-sellers.js';
import { Providers } from '../providers/providers.js';
import { columnsOf } from './listing-state.js';
import { assertSchemas } from './listing-schemas.js';
import { textProblem } from './listing-text.js';
import { ListingsRepository, type Listing } from './listings.repository.js';
import { isCalled, pricingProblem } from './pricing.js';
import { ListingChanges } from './listing-changes.js';

type Input = InputOf<typeof createListing>;
type Created = OutputOf<typeof createListing>;

/**
 * Creates a listing for a solved challenge. It provisions the private endpoint before the transaction, so that a
 * refusal by the gateway does not consume the challenge and no transaction waits for another service.
 */
@Injectable()
export class CreateListing {
  constructor(
    private readonly idempotency: Idempotency,
    private readonly categories: Categories,
    private readonly challenges: ListingChallenges,
    private readonly providers: Providers,
    private readonly payable: PayableSellers,
    private readonly endpoints: Endpoints,
    private readonly listings: ListingsRepository,
    private readonly changes: ListingChanges,
    private readonly outbox: Outbox,
    @Inject(catalogConfig.token) private readonly config: CatalogConfig,
  ) {}

  @HandleRequest(createListing)
  async execute(input: Input, context: RequestContext): Promise<Created> {
    const seller = principalOf(context);
    if (!isSeller(seller)) throw refuse(createListing, 'seller_role_required', {});
    const storedAnswer = await this.idempotency.replay(createListing, context);
    if (storedAnswer) return storedAnswer;
    await this.assertSellable(input);
    const solved = await this.challenges.solved(seller.accountId, input.pow_nonce, input.challenge);
    if (input.status === 'active' && input.pricing_amount > 0) {
      const networks = await this.payable.missingWallet(seller.accountId, context);
      if (networks) throw refuse(createListing, 'payout_wallet_missing', { networks });
    }
    // The check of a schema can take long, so it comes after the proof of work.
    await assertSchemas(createListing, seller.accountId, input);
    await this.providers.ensureKnown(seller.accountId, context);

    const listing = newListing(input, seller.accountId);
    const url = input.private_endpoint_url;
    const endpoint =
      url === undefined
        ? undefined
        : await this.endpoints.provision({ listingId: listing.id, sellerId: seller.accountId, url }, context);
    try {
      const created = await this.idempotency.run(createListing, context, (tx) =>
        this.store(tx, listing, solved, endpoint, context),
      );
      // A concurrent request with the same key has created the listing.
      if (endpoint && created.id !== listing.id) await this.endpoints.abandon(listing.id, context);
      return created;
    } catch (error) {
      // After any other error the listing may have been committed, so its endpoint is kept.
      if (endpoint && error instanceof Refusal) await this.endpoints.abandon(listing.id, context);
      throw error;
    }
  }

  private async assertSellable(input: Input): Promise<void> {
    const { pricing_amount, private_endpoint_url, category_id } = input;
    const text = textProblem(input);
    if (text) throw refuse(createListing, 'text_invalid', text);
    const problem = pricingProblem({ ...input, price_micros: microsFromUsdNumber(pricing_amount)!.toString() });
    if (problem) throw refuse(createListing, 'pricing_invalid', { problem });
    if (isCalled(input) && private_endpoint_url === undefined)
      throw refuse(createListing, 'private_endpoint_required', {});
    if (!isCalled(input) && private_endpoint_url !== undefined)
      throw refuse(createListing, 'private_endpoint_unexpected', {});
    if (category_id !== null && !(await this.categories.has(category_id)))
      throw refuse(createListing, 'category_not_found', {});
  }

  private async store(
    tx: Tx,
    listing: Omit<Listing, 'slug'>,
    { challenge, difficulty, solveMs }: SolvedChallenge,
    endpoint: ProvisionedEndpoint | undefined,
    context: RequestContext,
  ): Promise<Created> {
    const limit = this.config.listingsPerSellerMax;
    if ((await this.listings.countOfSeller(tx, listing.provider_id)) >= limit)
      throw refuse(createListing, 'listing_limit_reached', { limit });
    await this.challenges.consume(tx, listing.provider_id, challenge);
    this.outbox.add(
      tx,
      listingWorkSolved,
      { accountId: listing.provider_id, difficulty, solveMs, solvedAt: listing.created_at.toISOString() },
      context,
    );
    const { slug, status } = await this.changes.add(tx, listing, context);
    if (endpoint) await this.endpoints.keep(tx, listing.id, endpoint);
    return {
      id: listing.id,
      name: listing.name,
      slug,
      provider_id: listing.provider_id,
      status,
      pricing_model: listing.pricing_model,
      pricing_amount: usdNumber(BigInt(listing.price_micros)),
      created_at: listing.created_at.toISOString(),
      ...(endpoint?.signingSecret !== undefined && { gateway_signing_secret: endpoint.signingSecret }),
    };
  }
}

function newListing(
  { pow_nonce: _nonce, challenge: _challenge, private_endpoint_url: _url, status, pricing_amount, ...fields }: Input,
  provider_id: string,
) {
  const now = new Date();
  return {
    ...fields,
    id: newId(now.getTime()),
    version: 1,
    provider_id,
    price_micros: microsFromUsdNumber(pricing_amount)!.toString(),
    ...columnsOf(status),
    published_at: status === 'active' ? now : null,
    created_at: now,
    updated_at: now,
  };
}
