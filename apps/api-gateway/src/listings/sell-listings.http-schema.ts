import { currency, deliveryType, pricingModel, type Currency, type InputOf, type PricingModel, type RequestOf } from '@market/contracts';
import { authMethod, type createListing } from '@market/contracts/catalog';
import { microsFromUsdNumber } from '@market/kernel';
import { HttpUrl, ObjectsOf, OneOf, Text, TextList, UsdAmount, Uuid } from '../http/fields.js';

type NewListing = InputOf<typeof createListing>;

const EDITABLE_STATUS: NewListing['status'][] = ['draft', 'active'];
/** Prices are charged in what they are shown in. */
const DISPLAY_CURRENCIES = ['USD'];

export class ExampleOutput {
  @Text({ max: 200 })
  label: string;

  @Text({ max: 20_000 })
  content: string;
}

export class CreateListingBody {
  @Text({ min: 1, max: 64, description: 'The solution of the listing proof-of-work.' })
  pow_nonce: string;

  @Text({ min: 1, max: 64, optional: true, description: 'The challenge that pow_nonce solves; the latest unused one when left out.' })
  challenge?: string;

  @Text({ min: 2, max: 100 })
  name: string;

  @Text({ min: 10, max: 5_000 })
  description: string;

  @Uuid({ optional: true })
  category_id?: string;

  @OneOf(pricingModel.options, { optional: true, default: 'free' })
  pricing_model?: PricingModel;

  @UsdAmount({ optional: true, default: 0, description: 'US dollars, at most 6 decimals.' })
  pricing_amount?: number;

  @OneOf(DISPLAY_CURRENCIES, { optional: true, default: 'USD', description: 'Display currency; every price is in US dollars.' })
  pricing_currency?: string;

  @OneOf(currency.options, { optional: true, default: 'USDC', description: 'Payout currency.' })
  preferred_currency?: Currency;

  @OneOf(deliveryType.options, { optional: true, default: 'api' })
  delivery_type?: NewListing['deliveryType'];

  @OneOf(authMethod.options, { optional: true, default: 'api_key' })
  auth_method?: NewListing['authMethod'];

  @TextList({ maxItems: 20, maxLength: 50, optional: true, default: ['json'] })
  formats?: string[];

  @Text({ max: 50_000, optional: true })
  docs?: string;

  @Text({ max: 10_000, optional: true, description: 'Shown to subscribers and to the owner alone.' })
  connection_instructions?: string;

  @ObjectsOf(ExampleOutput, { maxItems: 20, optional: true })
  example_outputs?: ExampleOutput[];

  @HttpUrl({ optional: true })
  demo_endpoint?: string;

  @HttpUrl({ optional: true })
  github_url?: string;

  @HttpUrl({ optional: true })
  logo_url?: string;

  @Text({ max: 100, optional: true })
  expected_delivery?: string;

  @Text({ max: 5_000, optional: true })
  risk_disclaimers?: string;

  @Text({ max: 5_000, optional: true })
  sla?: string;

  @TextList({ maxItems: 20, maxLength: 50, optional: true })
  tags?: string[];

  @OneOf(EDITABLE_STATUS, { optional: true, default: 'active' })
  status?: NewListing['status'];

  @Text({ min: 1, max: 2_048, optional: true, description: 'Where calls are forwarded to; required for per_call, never returned.' })
  private_endpoint_url?: string;
}

export class UpdateListingBody {
  @Text({ min: 2, max: 100, optional: true })
  name?: string;

  @Text({ min: 10, max: 5_000, optional: true })
  description?: string;

  @OneOf(pricingModel.options, { optional: true })
  pricing_model?: PricingModel;

  @UsdAmount({ optional: true, description: 'US dollars, at most 6 decimals.' })
  pricing_amount?: number;

  @OneOf(EDITABLE_STATUS, { optional: true })
  status?: NewListing['status'];

  @TextList({ maxItems: 20, maxLength: 50, optional: true })
  tags?: string[];

  @Text({ min: 1, max: 2_048, optional: true, description: 'per_call listings only.' })
  private_endpoint_url?: string;
}

/** The proof in a creation is no part of what is meant: see `idempotentCall`. */
export const LISTING_PROOFS = ['pow_nonce', 'challenge'];

const microsOf = (usd: number | undefined): string | undefined => (usd === undefined ? undefined : microsFromUsdNumber(usd)!.toString());

export const toCreateListing = (body: CreateListingBody): RequestOf<typeof createListing> => ({
  powNonce: body.pow_nonce,
  challenge: body.challenge,
  name: body.name,
  description: body.description,
  categoryId: body.category_id,
  pricingModel: body.pricing_model,
  pricingAmountMicros: microsOf(body.pricing_amount),
  pricingCurrency: body.pricing_currency,
  preferredCurrency: body.preferred_currency,
  deliveryType: body.delivery_type,
  authMethod: body.auth_method,
  formats: body.formats,
  docs: body.docs,
  connectionInstructions: body.connection_instructions,
  exampleOutputs: body.example_outputs,
  demoEndpoint: body.demo_endpoint,
  githubUrl: body.github_url,
  logoUrl: body.logo_url,
  expectedDelivery: body.expected_delivery,
  riskDisclaimers: body.risk_disclaimers,
  sla: body.sla,
  tags: body.tags,
  status: body.status,
  privateEndpointUrl: body.private_endpoint_url,
});

export const toListingChanges = (body: UpdateListingBody) => ({
  name: body.name,
  description: body.description,
  pricingModel: body.pricing_model,
  pricingAmountMicros: microsOf(body.pricing_amount),
  status: body.status,
  tags: body.tags,
  privateEndpointUrl: body.private_endpoint_url,
});
