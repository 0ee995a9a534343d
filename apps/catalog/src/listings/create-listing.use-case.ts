import type { InputOf, OutputOf } from '@market/contracts';
import { createListing, listingWorkSolved } from '@market/contracts/catalog';
import { newId, usdNumber } from '@market/kernel';
import { principalOf, refuse, Refusal, type Call } from '@market/messaging';
import { Idempotency, Outbox, type Tx } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { Categories } from '../categories/categories.js';
import { ListingChallenges, type SolvedChallenge } from '../challenges/listing-challenges.js';
import { catalogConfig, type CatalogConfig } from '../config.js';
import { Endpoints, type ProvisionedEndpoint } from '../endpoints/endpoints.js';
import { isSeller } from '../providers/is-seller.js';
import { Providers } from '../providers/providers.js';
import { columnsOf } from './domain/listing-state.js';
import { textProblem } from './domain/listing-text.js';
import { pricingProblem } from './domain/pricing.js';
import type { ListingEntity } from './infra/listing.entity.js';
import { ListingsRepository } from './infra/listings.repository.js';
import { ListingChanges } from './listing-changes.js';

type Input = InputOf<typeof createListing>;
type Created = OutputOf<typeof createListing>;

/**
 * A new listing for a solved challenge. Its private endpoint is provisioned before the transaction: what the gateway
 * refuses costs the seller nothing, and no transaction waits for another service.
 * Queries: 2 and a transaction of 8; 1 more for per_call, 4 more with an Idempotency-Key, 1 more for a new seller.
 */
@Injectable()
export class CreateListing {
  constructor(
    private readonly idempotency: Idempotency,
    private readonly categories: Categories,
    private readonly challenges: ListingChallenges,
    private readonly providers: Providers,
    private readonly endpoints: Endpoints,
    private readonly listings: ListingsRepository,
    private readonly changes: ListingChanges,
    private readonly outbox: Outbox,
    @Inject(catalogConfig.token) private readonly config: CatalogConfig,
  ) {}

  async execute(input: Input, call: Call): Promise<Created> {
    const seller = principalOf(call);
    if (!isSeller(seller)) throw refuse(createListing, 'seller_role_required', {});
    const kept = await this.idempotency.replay(createListing, call);
    if (kept) return kept;
    await this.assertSellable(input);
    const solved = await this.challenges.solved(seller.accountId, input.powNonce, input.challenge);
    await this.providers.ensureKnown(seller.accountId, call);

    const listing = newListing(input, seller.accountId);
    const url = input.privateEndpointUrl;
    const endpoint = url === undefined ? undefined : await this.endpoints.provision({ listingId: listing.id, sellerId: seller.accountId, url }, call);
    try {
      const created = await this.idempotency.run(createListing, call, (tx) => this.store(tx, listing, solved, endpoint, call));
      // A parallel request with the same key came first, and its listing is the answer.
      if (endpoint && created.id !== listing.id) await this.endpoints.abandon(listing.id, call);
      return created;
    } catch (error) {
      // After any other failure the listing may be there, and keeps its endpoint.
      if (endpoint && error instanceof Refusal) await this.endpoints.abandon(listing.id, call);
      throw error;
    }
  }

  private async assertSellable(input: Input): Promise<void> {
    const text = textProblem(textsOf(input));
    if (text) throw refuse(createListing, 'text_invalid', text);
    const pricing = pricingProblem({ model: input.pricingModel, amountMicros: BigInt(input.pricingAmountMicros), currency: input.pricingCurrency });
    if (pricing) throw refuse(createListing, 'pricing_invalid', { problem: pricing });
    if (input.pricingModel === 'per_call' && input.privateEndpointUrl === undefined) throw refuse(createListing, 'private_endpoint_required', {});
    if (input.pricingModel !== 'per_call' && input.privateEndpointUrl !== undefined) throw refuse(createListing, 'private_endpoint_unexpected', {});
    if (input.categoryId !== undefined && !(await this.categories.has(input.categoryId))) throw refuse(createListing, 'category_not_found', {});
  }

  private async store(tx: Tx, listing: Omit<ListingEntity, 'slug'>, { challenge, difficulty, solveMs }: SolvedChallenge, endpoint: ProvisionedEndpoint | undefined, call: Call): Promise<Created> {
    const limit = this.config.listingsPerSellerMax;
    if ((await this.listings.countOfSeller(tx, listing.providerId)) >= limit) throw refuse(createListing, 'listing_limit_reached', { limit });
    await this.challenges.consume(tx, listing.providerId, challenge);
    await this.outbox.add(tx, listingWorkSolved, { accountId: listing.providerId, difficulty, solveMs, solvedAt: listing.createdAt.toISOString() }, call);
    const slug = await this.changes.add(tx, listing, call);
    if (endpoint) await this.endpoints.keep(tx, listing.id, endpoint);
    return {
      id: listing.id,
      name: listing.name,
      slug,
      provider_id: listing.providerId,
      status: listing.status,
      pricing_model: listing.pricingModel,
      pricing_amount: usdNumber(listing.priceMicros),
      created_at: listing.createdAt.toISOString(),
      ...(endpoint?.signingSecret !== undefined && { gateway_signing_secret: endpoint.signingSecret }),
    };
  }
}

function newListing(input: Input, providerId: string): Omit<ListingEntity, 'slug'> {
  const now = new Date();
  return {
    id: newId(now.getTime()),
    version: 1,
    providerId,
    name: input.name,
    description: input.description,
    categoryId: input.categoryId ?? null,
    pricingModel: input.pricingModel,
    priceMicros: BigInt(input.pricingAmountMicros),
    pricingCurrency: input.pricingCurrency,
    preferredCurrency: input.preferredCurrency,
    deliveryType: input.deliveryType,
    authMethod: input.authMethod,
    formats: input.formats,
    docs: input.docs ?? null,
    connectionInstructions: input.connectionInstructions ?? null,
    exampleOutputs: input.exampleOutputs,
    demoEndpoint: input.demoEndpoint ?? null,
    githubUrl: input.githubUrl ?? null,
    logoUrl: input.logoUrl ?? null,
    expectedDelivery: input.expectedDelivery ?? null,
    riskDisclaimers: input.riskDisclaimers ?? null,
    sla: input.sla ?? null,
    tags: input.tags,
    ...columnsOf(input.status),
    publishedAt: input.status === 'active' ? now : null,
    createdAt: now,
    updatedAt: now,
  };
}

const textsOf = (input: Input) => ({
  name: input.name,
  description: input.description,
  formats: input.formats,
  docs: input.docs,
  connection_instructions: input.connectionInstructions,
  example_outputs: input.exampleOutputs,
  demo_endpoint: input.demoEndpoint,
  github_url: input.githubUrl,
  logo_url: input.logoUrl,
  expected_delivery: input.expectedDelivery,
  risk_disclaimers: input.riskDisclaimers,
  sla: input.sla,
  tags: input.tags,
});
