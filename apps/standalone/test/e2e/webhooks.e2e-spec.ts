import { evmWallet, Marketplace, type AccountEvent, type CreatedWebhook, type WebhookDelivery } from '@market/sdk';
import { eventually, startMarketplace, type RunningMarketplace } from '@market/testing';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { bodyOf, callOnce, payFor, reasonOf, resultOf, withRelayId } from '../support/buyer.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { openShop, type Shop } from '../support/seller.js';

/** Stores what it is sent, and answers with a status. */
class Receiver {
  readonly seen: { headers: IncomingHttpHeaders; rawBody: string }[] = [];
  status = 204;
  private readonly server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      this.seen.push({ headers: request.headers, rawBody: Buffer.concat(chunks).toString() });
      response.writeHead(this.status).end();
    });
  });

  async listen(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/events?of=me`;
  }

  /** What a stock library of Standard Webhooks makes of each request. */
  verified(secret: string): AccountEvent[] {
    return this.seen.map(
      ({ rawBody, headers }) => new Webhook(secret).verify(rawBody, headers as Record<string, string>) as AccountEvent,
    );
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

inEachMode('webhooks', ({ mode }) => {
  let marketplace: RunningMarketplace;
  let seller: Agent;
  let buyer: Agent;
  let shop: Shop;
  let receiver: Receiver;
  let url: string;

  beforeAll(async () => {
    marketplace = await startMarketplace({
      mode,
      env: { GATEWAY_PROBE_INTERVAL_MS: '600000' },
      replicas: { gateway: 2 },
    });
  }, 240_000);
  beforeEach(async () => {
    [seller, buyer] = await Promise.all([registerAgent(marketplace), registerAgent(marketplace)]);
    shop = await openShop(seller);
    receiver = new Receiver();
    url = await receiver.listen();
  });
  afterEach(async () => {
    receiver.close();
    await shop.close();
  });
  afterAll(() => marketplace?.stop(), 120_000);

  const sell = async (n: number): Promise<string> => {
    const relayRequestId = await payFor(buyer, shop.listing, { n });
    return resultOf(await callOnce(buyer, shop.listing, { n }, withRelayId(relayRequestId))).request_id;
  };
  const log = async (webhook: CreatedWebhook): Promise<WebhookDelivery[]> =>
    (await seller.market.webhooks.deliveries(webhook)).data;

  it('send what GET /events tells, signed for stock libraries, and show what became of it, and send it again', async () => {
    const webhook = await seller.market.webhooks.create({ url, event_types: ['sale'], description: 'Bookkeeping' });
    const requestId = await sell(1);
    await eventually(() => expect(receiver.seen).toHaveLength(1));
    const [sale] = receiver.verified(webhook.secret);
    expect(sale!.data.request_id).toBe(requestId);
    const { data: events } = bodyOf(await seller.market.send('GET', '/events')) as { data: AccountEvent[] };
    expect(events).toContainEqual(sale);
    const delivery = await eventually(async () => {
      const [found] = await log(webhook);
      expect(found).toMatchObject({
        event: sale,
        status: 'delivered',
        attempts: [{ status_code: 204, failure: null }],
      });
      return found!;
    });
    expect(receiver.seen[0]!.headers['webhook-id']).toBe(delivery.message_id);

    const { secret } = await seller.market.webhooks.rotateSecret(webhook);
    expect(await seller.market.webhooks.replay(delivery)).toMatchObject({ id: delivery.id, status: 'pending' });
    await eventually(() => expect(receiver.seen).toHaveLength(2));
    expect(receiver.seen[1]).toMatchObject({
      rawBody: receiver.seen[0]!.rawBody,
      headers: { 'webhook-id': delivery.message_id },
    });
    expect(receiver.verified(webhook.secret)[1]).toEqual(sale);
    expect(() => receiver.verified(secret)).toThrow('No matching signature');
    receiver.seen.shift();
    expect(receiver.verified(secret)).toEqual([sale]);
    expect(await seller.market.webhooks.test(webhook)).toMatchObject({ success: true, status_code: 204 });
    expect(receiver.verified(secret)[1]).toMatchObject({ type: 'test', data: { webhook_id: webhook.id } });
    expect(await seller.market.webhooks.get(webhook)).toMatchObject({
      url,
      status: 'active',
      description: 'Bookkeeping',
    });
  });

  it('lose nothing while their receiver is down, paused or the gateway is killed', async () => {
    const webhook = await seller.market.webhooks.create({ url, event_types: ['sale'] });
    receiver.status = 503;
    const sales = [await sell(1)];
    await eventually(async () => expect((await log(webhook))[0]?.attempts).toHaveLength(1));
    const processes = mode === 'standalone' ? (['standalone'] as const) : (['gateway', 'gateway#2'] as const);
    await Promise.all(processes.map((name) => marketplace.kill(name)));
    receiver.status = 200;
    await Promise.all(processes.map((name) => marketplace.restart(name)));
    await seller.market.webhooks.update(webhook, { status: 'paused' });
    sales.push(await sell(2));
    await seller.market.webhooks.update(webhook, { status: 'active' });
    await eventually(
      async () => expect((await log(webhook)).map(({ status }) => status)).toEqual(['delivered', 'delivered']),
      { withinMs: 30_000 },
    );
    const got = receiver.verified(webhook.secret);
    expect(new Set(got.map(({ data }) => data.request_id))).toEqual(new Set(sales));
  }, 180_000);

  it('that are gone are disabled, which is an event; their owner sees it and enables them', async () => {
    const { marketplace: human } = await new Marketplace({ baseUrl: marketplace.baseUrl }).signIn(evmWallet());
    await human.claim(seller.id, seller.wallet);
    const path = `/webhooks?agent_id=${seller.id}`;
    const { data: webhook } = bodyOf(await human.send('POST', path, { body: { url } })) as { data: CreatedWebhook };
    receiver.status = 410;
    await sell(1);
    await eventually(async () => {
      const { data } = bodyOf(await seller.market.send('GET', '/events?limit=100')) as { data: AccountEvent[] };
      expect(data.at(-1)).toMatchObject({ type: 'webhook_disabled', data: { webhook_id: webhook.id, reason: 'gone' } });
    });
    expect(bodyOf(await human.send('GET', path)).data).toMatchObject([{ status: 'disabled', disabled_reason: 'gone' }]);
    receiver.status = 200;
    receiver.seen.splice(0);
    await human.send('PATCH', `/webhooks/${webhook.id}?agent_id=${seller.id}`, { body: { status: 'active' } });
    await eventually(() =>
      expect(receiver.verified(webhook.secret).some(({ type }) => type === 'webhook_disabled')).toBe(true),
    );
  });

  it('are made once under an Idempotency-Key, and lead nowhere they must not', async () => {
    const create = (body: object) =>
      seller.market.send('POST', '/webhooks', { headers: { 'Idempotency-Key': 'made-once' }, body });
    const [first, second] = [await create({ url }), await create({ url })];
    expect([first.status, second.json]).toEqual([201, first.json]);
    expect(await seller.market.webhooks.list()).toHaveLength(1);
    for (const [to, problem] of [
      [`${marketplace.baseUrl}/api/v1/sandbox`, 'own_host'],
      ['http://127.0.0.1:6379/', 'port_not_allowed'],
      ['https://user:secret@hooks.example/', 'userinfo_not_allowed'],
    ]) {
      const refused = await seller.market.send('POST', '/webhooks', { body: { url: to } });
      expect([refused.status, bodyOf(refused).error!.details]).toMatchObject([400, { problem }]);
    }
    const unknown = await seller.market.send('POST', '/webhooks', { body: { url, event_types: ['sales'] } });
    expect([unknown.status, reasonOf(unknown)]).toEqual([400, 'request_invalid']);
  });
});
