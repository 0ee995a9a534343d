/** The types of the interface, from its OpenAPI document. Interfaces let editors and the compiler show their names. */
import type { components, operations, paths } from '#openapi';

type Operation = keyof operations;
type Json<Content> = Content extends { content: { 'application/json': infer Body } } ? Body : never;
/** The `data` of an operation's success, or of its answer with another status. */
export type Data<Name extends Operation, Status = 200 | 201> =
  Json<operations[Name]['responses'][Status & keyof operations[Name]['responses']]> extends { data: infer Value }
    ? Value
    : never;
type Item<Name extends Operation> = Data<Name>[number & keyof Data<Name>];
type Body<Name extends Operation> = operations[Name] extends { requestBody?: infer Request }
  ? Json<NonNullable<Request>>
  : never;
type Query<Name extends Operation> = operations[Name] extends { parameters: { query?: infer Parameters } }
  ? NonNullable<Parameters>
  : never;
/** A 402 may also ask for a subscription, and then has no offer. */
type OfferOf<Name extends Operation> =
  Json<operations[Name]['responses'][402 & keyof operations[Name]['responses']]> extends {
    data?: { payment: infer Offer };
  }
    ? Offer
    : never;
type Proofless<Given> = Omit<Given, 'proof' | 'pow_nonce' | 'challenge'>;

/** Every path with its operations, for clients that are typed by paths. */
export type Paths = paths;

export type ErrorBody = Omit<components['schemas']['Error']['error'], 'details'> & {
  details?: Record<string, unknown>;
};
/** What the client should do next. */
export type Recovery = components['schemas']['Recovery'];
export type NextAction = Recovery['next_action'];
export interface Health extends Data<'getHealth'> {}
export type PageQuery = Query<'listReviews'>;
export interface Page<T> {
  data: T[];
  pagination: Pagination;
}
export type Pagination = Json<operations['listReviews']['responses'][200]>['pagination'];

export type ChallengeRequest = Body<'createChallenge'>;
export type ChallengePurpose = NonNullable<ChallengeRequest['purpose']>;
export interface Challenge extends Data<'createChallenge'> {}
export interface Registration extends Data<'register'> {}
export interface RecoveredAccount extends Data<'recover'> {}
/** A human operator who is signed in. */
export interface Session extends Data<'openSession'> {}
export interface Claim extends Data<'claimAgent'> {}
export interface ClaimCode extends Data<'createClaimCode'> {}
/** Only a human may be without a wallet. */
export interface AgentProfile extends Data<'getProfile'> {
  wallet_address: string;
}
/** A signed challenge. */
export type WalletProof = Omit<Body<'openSession'>, 'link'>;
export interface LinkedWallet extends Data<'getWallet'> {}
export type WalletSummary = AgentProfile['wallets'][number];
export type WalletCapability = LinkedWallet['capabilities'][number];
export type UpdateWallet = Proofless<Body<'updateWallet'>>;
export interface ApiKey extends Item<'listApiKeys'> {}
export type Scope = ApiKey['scopes'][number];
export type CreateApiKey = Body<'createApiKey'>;
export interface CreatedApiKey extends Data<'createApiKey'> {}
export interface ApiKeyDetail extends Data<'getApiKey'> {}
export type UpdateApiKey = Body<'updateApiKey'>;
export interface AgentBudget extends Data<'getBudget'> {}
export type UpdateBudget = Body<'updateBudget'>;
export interface RevokedApiKey extends Data<'revokeApiKey'> {}

export interface Category extends Item<'listCategories'> {}
export interface ListingChallenge extends Data<'createListingChallenge'> {}
/** The fields of a new listing except its proof of work, which `listings.create` solves. */
export type CreateListing = Proofless<Body<'createListing'>>;
export interface CreatedListing extends Data<'createListing'> {}
export type UpdateListing = Body<'updateListing'>;
export interface UpdatedListing extends Data<'updateListing'> {}
export type ValidateListing = Omit<Body<'validateListing'>, 'listing'>;
export interface ListingValidation extends Data<'validateListing'> {}
export interface RemovedListing extends Data<'removeListing'> {}
export type ListingQuery = Omit<Query<'searchListings'>, 'min_price' | 'max_price' | 'max_price_usd'> & {
  /** USD, inclusive. */
  min_price?: number | string;
  max_price?: number | string;
  max_price_usd?: number | string;
};
/** An event that concerns an account. */
export interface AccountEvent extends Item<'listEvents'> {}
export interface Webhook extends Item<'listWebhooks'> {}
export type CreateWebhook = Body<'createWebhook'>;
export interface CreatedWebhook extends Data<'createWebhook'> {}
export type UpdateWebhook = Body<'updateWebhook'>;
export interface DeletedWebhook extends Data<'deleteWebhook'> {}
export interface RotatedWebhookSecret extends Data<'rotateWebhookSecret'> {}
export interface WebhookTest extends Data<'testWebhook'> {}
export interface WebhookDelivery extends Item<'listWebhookDeliveries'> {}
export type WebhookDeliveryQuery = Query<'listWebhookDeliveries'>;
/** A listing in the results of search. */
export interface Listing extends Item<'searchListings'> {}
export interface ListingDetail extends Data<'getListing'> {}
export type ListingProvider = Listing['provider'];
export type ListingRating = NonNullable<ListingDetail['rating']>;
/** A listing as other resources refer to it. */
export type ListingRef = Pick<Listing, 'id' | 'name' | 'slug'>;
export type PricingModel = Listing['pricing_model'];
export type PaymentCurrency = Listing['preferred_currency'];
export type DeliveryType = Listing['delivery_type'];
export type AuthMethod = Listing['auth_method'];
export type ListingStatus = Listing['status'];
export interface Endpoint extends Data<'getEndpoint'> {}
export type EndpointStatus = Endpoint['status'];
export type EndpointLimits = Endpoint['limits'];
export type UpdateEndpoint = Body<'updateEndpoint'>;
export interface EndpointTest extends Data<'testEndpoint'> {}
export interface RotatedSecret extends Data<'rotateSecret'> {}

type CallOffer = OfferOf<'executeCall'>;
type Loose<T, Required extends keyof T> = Pick<T, Required> & Partial<T>;
/** `PaymentRequired` of x402 version 2. Source: specs/x402-specification-v2.md of github.com/coinbase/x402. */
export interface X402PaymentRequired {
  x402Version: 2;
  resource?: { url: string; description?: string; mimeType?: string };
  accepts: X402Requirements[];
}
/** One way to pay: `PaymentRequirements` of x402 version 2. */
export interface X402Requirements {
  scheme: string;
  network: string;
  amount: string;
  asset: string;
  payTo: string;
  maxTimeoutSeconds: number;
  extra?: Record<string, unknown>;
}
/** How a signed payment was settled: the decoded header `PAYMENT-RESPONSE`. */
export interface X402Settlement {
  success: boolean;
  /** The hash of the transaction on `network`; empty when nothing was settled. */
  transaction: string;
  network: string;
  payer?: string;
  errorReason?: string;
}
/** The offer in `data.payment` of a 402, for a call with or without a key or for a period of a subscription. */
export interface Offer extends Partial<Omit<CallOffer, 'requirements' | 'x402'>> {
  relay_request_id: string;
  requirements: Loose<CallOffer['requirements'], 'amount' | 'currency' | 'relayRequestId' | 'expiresAt'>;
  x402?: X402PaymentRequired | null;
}
export interface PaymentRoute extends Item<'listPaymentRoutes'> {}
export type Fees = CallOffer['fees'];

export interface GatewayResult<T = unknown> extends Omit<Data<'executeCall'>, 'seller_response'> {
  seller_response: T;
}
/** What this client adds to the result of a call. */
export interface CallFacts {
  /** The payment of the call; null when the call was free, or when its key was answered from an earlier call. */
  relayRequestId: string | null;
  idempotencyKey: string;
  /** The settlement of a signed payment, once it is charged. */
  settlement: X402Settlement | null;
}
export type ChargedAmount = GatewayResult['charged_amount'];
export type CentFees = GatewayResult['fees'];
/** A payment that is not final, or a call that its seller works on. */
export type PendingCall = Data<'executeCall', 202>;
export type WorkingCall = Extract<PendingCall, { status: 'working' }>;
export interface GatewayRequest extends Item<'listGatewayRequests'> {}
/** A call with every attempt at its delivery. */
export interface GatewayRequestDetail extends Data<'getGatewayRequest'> {}
export type CancelledCall = Data<'cancelCall', 202>;
export type GatewayRequestStatus = GatewayRequest['status'];
export type GatewayRequestQuery = Query<'listGatewayRequests'>;
export type Party = GatewayRequest['buyer'];
export interface Balance extends Data<'getBalance'> {}
/** A month of the ledger as the service returns it, with its entries in `data`. */
export type Statement = Json<operations['getStatement']['responses'][200]>;
/** The same with all of its entries. */
export type MonthlyStatement = Statement['statement'] & { entries: LedgerEntry[] };
/** A refund that the account is owed or owes. */
export interface Refund extends Item<'listRefunds'> {}
export type RefundQuery = Query<'listRefunds'>;
export interface LedgerEntry extends Item<'listLedger'> {}
export type LedgerEntryType = LedgerEntry['type'];
export type LedgerQuery = Query<'listLedger'>;
export interface Receipt extends Item<'listReceipts'> {}
export interface ReceiptDetail extends Data<'getReceipt'> {}
export interface ReceiptProof extends Data<'getReceiptProof'> {}
export type ReceiptQuery = Query<'listReceipts'>;
export interface SandboxPayment extends Data<'paySandbox'> {}
export type SandboxOutcome = SandboxPayment['outcome'];

export interface Subscription extends Data<'subscribe'> {}
export type SubscriptionStatus = Subscription['status'];
export interface ListedSubscription extends Item<'listSubscriptions'> {}
export interface SubscriptionDetail extends Data<'getSubscription'> {}
export type SubscriptionQuery = Query<'listSubscriptions'>;
export interface CancelledSubscription extends Data<'cancelSubscription'> {}
/**
 * The offer for a period of a subscription. A `status` of `verified` means that it is paid and only has to be verified.
 */
export interface SubscriptionOffer extends Data<'createPayment'> {}
export type PaymentProof = Body<'verifyPayment'>;
export interface VerifiedPayment extends Data<'verifyPayment'> {}
export interface PaymentPending extends Data<'verifyPayment', 202> {}
export type PendingReason = PaymentPending['reason'];
export interface Payment extends Data<'getPayment'> {}

export type CreateReview = Body<'createReview'>;
export interface Review extends Data<'createReview'> {}
export interface Agent extends Data<'getAgent'> {}
export interface AgentScore extends Data<'getScore'> {}
export type CategoryScore = AgentScore['categories'][number];
