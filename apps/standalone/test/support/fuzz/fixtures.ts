import type { Scope } from '@market/contracts';
import { apiKeyOf, BASE62, CREDENTIAL_SECRET_LENGTH } from '@market/contracts/identity';
import {
  evmWallet,
  Marketplace,
  type SubscriptionOffer,
  type CreatedListing,
  type CreatedWebhook,
  type CreateListing,
  type Offer,
  type Wallet,
} from '@market/sdk';
import { file, sellerServer, type SellerServer } from '@market/sdk/seller';
import { eventually, OPERATOR } from '@market/testing';
import { randomBytes, randomInt } from 'node:crypto';
import { bodyOf, callOnce, payFor, quote, resultOf, withRelayId } from '../buyer.js';
import { freeFeed, listFeed, offerOf, subscribeOnce } from '../subscriber.js';
import { registerAgent, type Agent, type Harness } from '../harness.js';

/** A random word that no answer contains by chance. */
export const canary = (): string => `canary${randomBytes(9).toString('hex')}`;

export const unknownKey = (): string =>
  apiKeyOf(Array.from({ length: CREDENTIAL_SECRET_LENGTH }, () => BASE62[randomInt(BASE62.length)]).join(''));

const ALL_SCOPES: Scope[] = ['read', 'write', 'subscribe'];
/** A signed-in human. */
export interface Operator {
  readonly id: string;
  readonly wallet: Wallet;
  readonly token: string;
}

/** Signs in with a wallet. The first sign-in opens the human's account. @returns the session. */
export async function signIn({ baseUrl }: Pick<Harness, 'baseUrl'>, wallet: Wallet = evmWallet()): Promise<Operator> {
  const market = new Marketplace({ baseUrl });
  const { message, nonce } = await market.challenge({ wallet_address: wallet.address, purpose: 'session' });
  const body = { wallet_address: wallet.address, nonce, signature: await wallet.sign(message) };
  const { session_token, account } = await market.request<{ session_token: string; account: { id: string } }>(
    'POST',
    '/auth/session',
    { body },
  );
  return { id: account.id, wallet, token: session_token };
}

export const BOUGHT_BODY = { ask: 'the price of tea' };

/**
 * The accounts of the adversarial tests and their resources. The owner sells and buys, and has one of everything. The
 * outsider is unrelated to it. The owner buys from the merchant.
 */
export class Fixtures {
  /** Texts that only the owner may see. */
  readonly secrets: string[] = [];
  readonly keys: Record<Scope | 'all' | 'revoked' | 'expired', string>;
  /** The human that has claimed the owner. */
  human: Operator;
  /** An operator of the marketplace. */
  operator: Operator;
  /** A human that has claimed no agent. */
  stranger: Operator;
  /** The wallet with which the owner registered. */
  walletId: string;
  /** The owner's payout wallet. */
  payout: string;
  /** The token of a session that has ended. */
  endedSession: string;
  free: CreatedListing;
  perCall: CreatedListing;
  draft: CreatedListing;
  suspended: CreatedListing;
  /** A listing of the merchant that operators may suspend. */
  spare: CreatedListing;
  /** A listing of the merchant that the owner buys. */
  shop: CreatedListing;
  /** A listing of the merchant with a monthly subscription. */
  feed: CreatedListing;
  /** An unpaid offer to the owner for the feed. */
  pendingPayment: SubscriptionOffer;
  subscriptionId: string;
  receiptId: string;
  gatewayRequestId: string;
  /** A call of the owner that was answered with a file. */
  fileRequestId: string;
  /** The relay request id of a call that was delivered to the owner. */
  relayRequestId: string;
  transactionHash: string;
  offer: Offer;
  /** A free listing of the merchant that answers with files. */
  private files: CreatedListing;
  /** A webhook of the owner, and what was sent to it. */
  webhook: CreatedWebhook;
  deliveryId: string;
  private servers: SellerServer[] = [];

  private constructor(
    private readonly harness: Pick<Harness, 'baseUrl'>,
    readonly owner: Agent,
    readonly outsider: Agent,
    readonly merchant: Agent,
  ) {
    this.keys = { all: owner.registration.api_key } as Fixtures['keys'];
  }

  static async create(harness: Pick<Harness, 'baseUrl'>): Promise<Fixtures> {
    const [owner, outsider, merchant] = await Promise.all(
      ['The owner', 'An outsider', 'A merchant'].map((displayName) => registerAgent(harness, { displayName })),
    );
    const fixtures = new Fixtures(harness, owner!, outsider!, merchant!);
    await fixtures.takeKeys();
    await fixtures.takeSessions();
    await fixtures.openShops();
    fixtures.webhook = await fixtures.freshWebhook();
    await fixtures.buy();
    await fixtures.takeDelivery();
    return fixtures;
  }

  /** Creates a key of the owner that may be revoked. */
  async spareKey(scopes: Scope[] = ALL_SCOPES): Promise<{ id: string; key: string }> {
    const created = await this.owner.market.apiKeys.create({ name: this.secret(), scopes });
    this.secrets.push(created.id);
    return created;
  }

  listing(fields: Partial<CreateListing> = {}): Promise<CreatedListing> {
    const [name, description] = [`Owned ${canary()}`, `Something of the owner, ${canary()}`];
    return this.owner.market.listings.create({ name, description, connection_instructions: this.secret(), ...fields });
  }

  /** The URL of the seller's server. */
  get sellerUrl(): string {
    return `${this.servers[0]!.url}/call`;
  }

  /** Creates a listing with an endpoint whose URL and credentials only the owner knows. */
  async perCallListing(fields: Partial<CreateListing> = {}): Promise<CreatedListing> {
    const url = new URL(`/${this.secret()}`, this.servers[0]!.url).href;
    const created = await this.listing({
      pricing_model: 'per_call',
      pricing_amount: 0.25,
      private_endpoint_url: url,
      ...fields,
    });
    this.secrets.push(created.gateway_signing_secret!);
    await this.owner.market.endpoint.update(created, { auth_header: { name: 'X-Seller-Key', value: this.secret() } });
    return created;
  }

  /** Creates an unpaid offer for the owner. */
  async unpaidOffer(): Promise<Offer> {
    const offer = await quote(this.owner, this.shop, { ask: canary() });
    this.secrets.push(offer.payment_id!, offer.relay_request_id);
    return offer;
  }

  /** Creates a free listing of the merchant. */
  merchantsListing(): Promise<CreatedListing> {
    return listFeed(this.merchant, freeFeed);
  }

  /** Registers an unrelated agent. @returns its id. */
  async freshAgent(): Promise<string> {
    return (await registerAgent(this.harness)).id;
  }

  /** Creates a subscription of the owner. @returns its id. */
  async freshSubscription(): Promise<string> {
    const answer = await subscribeOnce(this.owner, { listing_id: (await this.merchantsListing()).id });
    expect(answer.status).toBe(201);
    const { id } = bodyOf(answer).data as { id: string };
    this.secrets.push(id);
    return id;
  }

  /** Creates a webhook of the owner that leads to the seller's server. */
  async freshWebhook(): Promise<CreatedWebhook> {
    const url = new URL(`/${this.secret()}`, this.servers[0]!.url).href;
    const created = await this.owner.market.webhooks.create({ url });
    this.secrets.push(created.id, created.secret);
    return created;
  }

  async close(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.close()));
  }

  private secret(): string {
    const word = canary();
    this.secrets.push(word);
    return word;
  }

  private async takeKeys(): Promise<void> {
    const { market } = this.owner;
    for (const scope of ALL_SCOPES) this.keys[scope] = (await this.spareKey([scope])).key;
    const revoked = await this.spareKey();
    this.keys.revoked = revoked.key;
    await market.apiKeys.revoke(revoked);
    const expiring = await market.apiKeys.create({
      name: this.secret(),
      scopes: ALL_SCOPES,
      expires_at: new Date(Date.now() + 2_000).toISOString(),
    });
    this.keys.expired = expiring.key;
    await Promise.all([revoked.key, expiring.key].map((key) => this.untilRefused(key)));
  }

  private async takeSessions(): Promise<void> {
    this.human = await signIn(this.harness);
    this.stranger = await signIn(this.harness);
    this.operator = await signIn(this.harness, evmWallet(OPERATOR.key));
    const claimer = this.owner.market.authorizedBy(`Bearer ${this.human.token}`);
    const { message, nonce } = await claimer.challenge({
      wallet_address: this.owner.wallet.address,
      purpose: 'claim',
      agent_id: this.owner.id,
    });
    await claimer.request('POST', `/agents/${this.owner.id}/claim`, {
      body: { nonce, signature: await this.owner.wallet.sign(message) },
    });
    const [wallet] = (await this.owner.market.me()).wallets;
    this.walletId = wallet!.id;
    this.payout = wallet!.address;
    this.secrets.push(wallet!.id, wallet!.address);
    const { token } = await signIn(this.harness, this.human.wallet);
    await this.owner.market.authorizedBy(`Bearer ${token}`).request('DELETE', '/auth/session');
    this.endedSession = token;
    await this.untilRefused(token);
  }

  private async untilRefused(credential: string): Promise<void> {
    const market = this.owner.market.authorizedBy(`Bearer ${credential}`);
    await eventually(async () => expect((await market.send('GET', '/me')).status).toBe(401), {
      withinMs: 10_000,
      everyMs: 100,
    });
  }

  private async openShops(): Promise<void> {
    let shopSecret = '';
    let filesSecret = '';
    this.servers = await Promise.all([
      sellerServer(({ body }) => ({ echo: body }), { secret: () => shopSecret }),
      sellerServer(({ body }) => ({ echo: body }), { secret: () => shopSecret }),
      sellerServer(() => file(Buffer.from('the bytes of a file'), 'application/octet-stream'), {
        secret: () => filesSecret,
      }),
    ]);
    this.shop = await this.merchant.market.listings.create({
      name: `Shop ${canary()}`,
      description: 'Sells answers to the owner.',
      pricing_model: 'per_call',
      pricing_amount: 0.25,
      private_endpoint_url: `${this.servers[1]!.url}/call`,
    });
    shopSecret = this.shop.gateway_signing_secret!;
    this.files = await this.merchant.market.listings.create({
      name: `Files ${canary()}`,
      description: 'Sells files to the owner.',
      pricing_model: 'per_call',
      pricing_amount: 0,
      formats: ['binary'],
      private_endpoint_url: `${this.servers[2]!.url}/call`,
    });
    filesSecret = this.files.gateway_signing_secret!;
    this.free = await this.listing();
    this.spare = await this.merchantsListing();
    this.perCall = await this.perCallListing();
    this.draft = await this.perCallListing({ status: 'draft' });
    this.suspended = await this.perCallListing();
    await this.owner.market.listings.remove(this.suspended);
    for (const hidden of [this.draft, this.suspended]) this.secrets.push(hidden.name, hidden.slug);
  }

  private async buy(): Promise<void> {
    this.relayRequestId = await payFor(this.owner, this.shop, BOUGHT_BODY);
    const answer = await callOnce(this.owner, this.shop, BOUGHT_BODY, withRelayId(this.relayRequestId));
    expect(answer.status).toBe(200);
    const [receipt] = (await this.owner.market.receipts.list({ role: 'buyer' })).data;
    const [call] = (await this.owner.market.gatewayRequests.list({ role: 'buyer', status: 'succeeded' })).data;
    this.receiptId = receipt!.id;
    this.gatewayRequestId = call!.id;
    this.transactionHash = receipt!.transaction_hash!;
    this.secrets.push(this.relayRequestId, receipt!.id, receipt!.transaction_hash!, call!.id);
    const { request_id: fileRequestId } = resultOf(await callOnce(this.owner, this.files, BOUGHT_BODY));
    this.fileRequestId = fileRequestId;
    this.secrets.push(fileRequestId);
    this.offer = await this.unpaidOffer();
    this.feed = await listFeed(this.merchant);
    this.pendingPayment = await offerOf(this.owner, this.feed);
    this.subscriptionId = await this.freshSubscription();
    this.secrets.push(this.pendingPayment.payment_id, this.pendingPayment.requirements.relayRequestId);
  }

  /** The subscription is an event of the owner. */
  private async takeDelivery(): Promise<void> {
    this.deliveryId = await eventually(async () => {
      const { data } = await this.owner.market.webhooks.deliveries(this.webhook);
      expect(data).not.toEqual([]);
      return data[0]!.id;
    });
    this.secrets.push(this.deliveryId);
  }
}
