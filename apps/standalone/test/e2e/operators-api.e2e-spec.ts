import { evmWallet, type HttpAnswer, type Marketplace } from '@market/sdk';
import { eventually, OPERATOR } from '@market/testing';
import { bodyOf, callOnce, payFor, reasonOf, withRelayId } from '../support/buyer.js';
import { signIn } from '../support/fuzz/fixtures.js';
import { inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';
import { openShop, reply, type Shop } from '../support/seller.js';

interface Audited {
  id: string;
  service: string;
  operator: string;
  command: string;
  subject: string;
  reason: string | null;
}
interface Found {
  accounts: { id: string; display_name: string; is_suspended: boolean }[];
  listings: { id: string; status: string; suspended_by: string | null }[];
  payments: { id: string; state: string; transaction_hash: string | null; relay_request_id: string }[];
  calls: { id: string; status: string; payment_id: string | null }[];
}

inEachMode('the HTTP interface of operators', (harness) => {
  let operator: Marketplace;
  let operatorId: string;
  let seller: Agent;
  let buyer: Agent;
  let shop: Shop;
  let isBroken = false;
  let relayRequestId: string;
  const name = `Watched ${Date.now()}`;

  beforeAll(async () => {
    const session = await signIn(harness, evmWallet(OPERATOR.key));
    operatorId = session.id;
    operator = stranger(harness).authorizedBy(`Bearer ${session.token}`);
    seller = await registerAgent(harness, { displayName: name });
    buyer = await registerAgent(harness, { displayName: `Buyer of ${name}` });
    shop = await openShop(seller, () => (isBroken ? reply(500, { broken: true }) : { ok: true }), { name });
    relayRequestId = await payFor(buyer, shop.listing, {});
    isBroken = true;
    await callOnce(buyer, shop.listing, {}, withRelayId(relayRequestId));
    isBroken = false;
    expect((await callOnce(buyer, shop.listing, {}, withRelayId(relayRequestId))).status).toBe(200);
  });
  afterAll(() => shop.close());

  const get = async <T>(path: string): Promise<T> => {
    const answer = await operator.send('GET', `/admin${path}`);
    expect([path, answer.status]).toEqual([path, 200]);
    return bodyOf(answer).data as T;
  };
  const act = (path: string, body?: object): Promise<HttpAnswer> => operator.send('POST', `/admin${path}`, { body });
  const search = (q: string): Promise<Found> => get(`/search?q=${encodeURIComponent(q)}`);
  const statusOf = async (agent: Agent, path: string) => (await agent.market.send('GET', path)).status;

  it('is for those whom OPERATORS names, with their sessions', async () => {
    const human = await signIn(harness);
    const other = stranger(harness).authorizedBy(`Bearer ${human.token}`);
    const refused = await other.send('GET', '/admin/overview');
    expect([refused.status, reasonOf(refused)]).toEqual([403, 'operator_required']);
    expect(await other.me()).toMatchObject({ is_operator: false });
    expect(await operator.me()).toMatchObject({ is_operator: true });
    const byKey = await seller.market.send('GET', '/admin/overview');
    expect([byKey.status, reasonOf(byKey)]).toEqual([403, 'wrong_account_type']);
    expect((await stranger(harness).send('GET', '/admin/overview')).status).toBe(401);
  });

  it('tells volume, revenue, success, what is due, and the queues of every service', async () => {
    const overview = await eventually(
      async () => {
        const found = await get<{
          money: {
            days: { volume_usd: string; revenue_usd: string; payments: number }[];
            payable_usd: string;
            unexplained_usd: string;
          };
          calls: { days: { delivered: number }[] };
          services: { service: string; queues: { dead_letters: number } | null }[];
        }>('/overview');
        expect(found.calls.days.at(-1)!.delivered).toBeGreaterThan(0);
        expect(found.money.days.at(-1)!.payments).toBeGreaterThan(0);
        return found;
      },
      { withinMs: 20_000 },
    );
    expect(overview.money.days).toHaveLength(14);
    const today = overview.money.days.at(-1)!;
    // The default fee is 5 %.
    expect(Number(today.volume_usd)).toBeGreaterThanOrEqual(0.25);
    expect(Number(today.revenue_usd)).toBeGreaterThanOrEqual(0.0125);
    expect(Number(overview.money.payable_usd)).toBeGreaterThanOrEqual(0.2375);
    expect(overview.money.unexplained_usd).toBe('0');
    expect(overview.services.map(({ service }) => service).sort()).toEqual([
      'catalog',
      'gateway',
      'identity',
      'payments-ledger',
      'reputation',
    ]);
    for (const { queues } of overview.services) expect(queues).toMatchObject({ dead_letters: expect.any(Number) });
  });

  it('finds a call and its payment by whatever is known of them, and the agents by theirs', async () => {
    const byRelayId = await search(relayRequestId);
    const [payment] = byRelayId.payments;
    const [call] = byRelayId.calls;
    expect(byRelayId).toMatchObject({ payments: [{ state: 'completed' }], calls: [{ status: 'succeeded' }] });
    for (const known of [payment!.id, call!.id, payment!.transaction_hash!, call!.id.toUpperCase()])
      expect(await search(known)).toMatchObject({ payments: [{ id: payment!.id }], calls: [{ id: call!.id }] });
    for (const known of [seller.id, seller.wallet.address, seller.wallet.address.toLowerCase(), name.toLowerCase()])
      expect(await search(known)).toMatchObject({
        accounts: [{ id: seller.id }],
        listings: [{ id: shop.listing.id }],
        payments: [{ id: payment!.id }],
        calls: [{ id: call!.id }],
      });
    const [key] = await seller.market.apiKeys.list();
    expect(await search(key!.id)).toMatchObject({ accounts: [{ id: seller.id }] });
    expect(await search(key!.key_prefix)).toMatchObject({ accounts: [{ id: seller.id }] });
    expect(await search(shop.listing.slug)).toMatchObject({ listings: [{ id: shop.listing.id }] });
    expect(await search('no such thing')).toEqual({ accounts: [], listings: [], payments: [], calls: [] });

    expect(await get(`/calls/${call!.id}`)).toMatchObject({
      payment_id: payment!.id,
      attempts: [
        { outcome: 'seller_error', seller_status_code: 500 },
        { outcome: 'delivered', seller_status_code: 200 },
      ],
    });
    const { entries } = await get<{ entries: { account: string; direction: string; amount_usd: string }[] }>(
      `/payments/${payment!.id}`,
    );
    expect(entries.filter(({ account }) => account.startsWith('agent:'))).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ account: `agent:${buyer.id}:payments`, direction: 'debit', amount_usd: '0.25' }),
      ]),
    );
    expect(await get(`/agents/${seller.id}`)).toMatchObject({
      display_name: name,
      is_suspended: false,
      wallets: [{ address: seller.wallet.address }],
      keys: [{ id: key!.id }],
    });
    // The buyer sees the same attempts as the operator.
    expect((await buyer.market.gatewayRequests.get(call!)).attempts).toHaveLength(2);
  });

  it('suspends a listing and gives it back', async () => {
    const anyone = stranger(harness).listings;
    const { id } = shop.listing;
    expect(bodyOf(await act(`/listings/${id}/suspend`, { reason: 'a copy' })).data).toMatchObject({
      status: 'suspended',
      suspended_by: 'operator',
      changed: true,
    });
    await eventually(() => expect(anyone.get(id)).rejects.toMatchObject({ status: 404 }));
    expect(bodyOf(await act(`/listings/${id}/suspend`, { reason: 'twice' })).data).toMatchObject({ changed: false });
    expect(await get(`/listings/${shop.listing.slug}`)).toMatchObject({ suspended_by: 'operator' });
    expect(bodyOf(await act(`/listings/${id}/release`)).data).toMatchObject({ status: 'active', changed: true });
    await eventually(async () => expect((await anyone.get(id)).status).toBe('active'));
    const unreasoned = await act(`/listings/${id}/suspend`, {});
    expect([unreasoned.status, reasonOf(unreasoned)]).toEqual([400, 'request_invalid']);
  });

  it('suspends an agent: its key opens nothing, its listings leave the market, and all comes back', async () => {
    const anyone = stranger(harness).listings;
    expect(bodyOf(await act(`/agents/${seller.id}/suspend`, { reason: 'fraud' })).data).toMatchObject({
      is_suspended: true,
      changed: true,
    });
    await eventually(async () => expect(await statusOf(seller, '/me')).toBe(403), { withinMs: 20_000 });
    expect(reasonOf(await seller.market.send('GET', '/me'))).toBe('account_suspended');
    await eventually(() => expect(anyone.get(shop.listing.id)).rejects.toMatchObject({ status: 404 }));
    expect(await search(seller.id)).toMatchObject({
      accounts: [{ is_suspended: true }],
      listings: [{ suspended_by: 'system' }],
    });
    expect(bodyOf(await act(`/agents/${seller.id}/release`)).data).toMatchObject({ is_suspended: false });
    await eventually(async () => expect(await statusOf(seller, '/me')).toBe(200), { withinMs: 20_000 });
    await eventually(async () => expect((await anyone.get(shop.listing.id)).status).toBe('active'));
    const human = await act(`/agents/${operatorId}/suspend`, { reason: 'no agent' });
    expect([human.status, reasonOf(human)]).toEqual([404, 'agent_not_found']);
  });

  it('ends the event stream of an agent that it suspends, and leaves its owner nothing but to look', async () => {
    const owned = await registerAgent(harness, { displayName: 'Owned' });
    const human = await signIn(harness);
    const owner = stranger(harness).authorizedBy(`Bearer ${human.token}`);
    await owner.claim(owned.id, owned.wallet);
    const makeKey = () =>
      owner.send('POST', `/api-keys?agent_id=${owned.id}`, { body: { name: 'By the owner', scopes: ['read'] } });
    expect((await makeKey()).status).toBe(201);
    const stream = await fetch(`${harness.baseUrl}/api/v1/events`, {
      headers: { authorization: owned.registration.authorization_header, accept: 'text/event-stream' },
    });
    expect(stream.status).toBe(200);
    const ended = stream.text();

    await act(`/agents/${owned.id}/suspend`, { reason: 'fraud' });
    await ended;
    await eventually(async () => {
      const refused = await makeKey();
      expect([refused.status, reasonOf(refused)]).toEqual([403, 'account_suspended']);
    });
    expect((await owner.send('GET', `/ledger?agent_id=${owned.id}`)).status).toBe(200);
    expect((await owned.market.send('GET', '/me')).status).toBe(403);
    await act(`/agents/${owned.id}/release`);
    await eventually(async () => expect((await makeKey()).status).toBe(201));
  });

  it("revokes anyone's key, and writes down whatever operators do and look at", async () => {
    const made = await seller.market.apiKeys.create({ name: 'Leaked', scopes: ['read'] });
    const leaked = seller.market.authorizedBy(`Bearer ${made.key}`);
    expect((await leaked.send('GET', '/me')).status).toBe(200);
    expect(bodyOf(await act(`/api-keys/${made.id}/revoke`, { reason: 'leaked' })).data).toEqual({
      id: made.id,
      revoked: true,
      changed: true,
    });
    await eventually(async () => expect((await leaked.send('GET', '/me')).status).toBe(401), { withinMs: 20_000 });

    const seen: Audited[] = [];
    for (let path = '/admin/audit?limit=7'; ;) {
      const { data, pagination } = (await operator.send('GET', path)).json as {
        data: Audited[];
        pagination: { next_cursor?: string };
      };
      seen.push(...data);
      if (pagination.next_cursor === undefined || seen.length > 200) break;
      path = `/admin/audit?limit=7&cursor=${pagination.next_cursor}`;
    }
    expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
    const done = seen.filter(({ subject }) => [shop.listing.id, seller.id, made.id].includes(subject)).reverse();
    expect(new Set(done.map((entry) => entry.operator))).toEqual(new Set([operatorId]));
    const acted = done.filter(({ command }) => !command.endsWith('show') && command !== 'search');
    expect(acted.map(({ service, command, reason }) => [service, command, reason])).toEqual([
      ['catalog', 'listing suspend', 'a copy'],
      ['catalog', 'listing release', null],
      ['identity', 'agent suspend', 'fraud'],
      ['identity', 'agent release', null],
      ['identity', 'key revoke', 'leaked'],
    ]);
    expect(done.filter(({ command }) => command === 'search').length).toBeGreaterThan(0);
    expect(seen.map(({ command }) => command)).toEqual(
      expect.arrayContaining(['agent show', 'listing show', 'payment show', 'call show']),
    );
  });

  it('shows anyone how well calls of a listing went day by day', async () => {
    await eventually(
      async () => {
        const answer = await stranger(harness).send('GET', `/listings/${shop.listing.slug}/quality?days=7`);
        expect(answer.status).toBe(200);
        // A failure that only one buyer had does not count.
        expect(bodyOf(answer).data).toEqual([
          expect.objectContaining({ calls: 1, success_rate: 1, p50_ms: expect.any(Number) as number }),
        ]);
      },
      { withinMs: 20_000 },
    );
  });

  it('tells the overview as a stream: at once, when a number moved, and until the session ends', async () => {
    const { token } = await signIn(harness, evmWallet(OPERATOR.key));
    const own = stranger(harness).authorizedBy(`Bearer ${token}`);
    const follow = (bearer: string) =>
      fetch(`${harness.baseUrl}/api/v1/admin/overview`, {
        headers: { authorization: `Bearer ${bearer}`, accept: 'text/event-stream' },
        signal: AbortSignal.timeout(40_000),
      });
    const human = await signIn(harness);
    expect([(await follow(human.token)).status, (await follow('nobody')).status]).toEqual([403, 401]);
    const stream = await follow(token);
    expect([stream.status, stream.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    const text = stream
      .body!.pipeThrough(new TextDecoderStream() as never)
      .getReader() as ReadableStreamDefaultReader<string>;
    let unread = '';
    const told = async (): Promise<{ money: { days: { payments: number }[] }; services: object[] } | undefined> => {
      for (;;) {
        const [frame, ...rest] = unread.split('\n\n');
        if (rest.length > 0) {
          unread = rest.join('\n\n');
          const [, json] = /^event: overview\ndata: (.*)$/.exec(frame!) ?? [];
          if (json !== undefined) return JSON.parse(json) as Awaited<ReturnType<typeof told>>;
          continue;
        }
        const { done, value } = await text.read();
        if (done) return undefined;
        unread += value;
      }
    };
    const first = (await told())!;
    expect(first.services).toHaveLength(5);
    const later = await payFor(buyer, shop.listing, { n: 2 });
    expect((await callOnce(buyer, shop.listing, { n: 2 }, withRelayId(later))).status).toBe(200);
    // Other files of this run pay sellers out meanwhile, so sales are counted and not what is payable.
    const sales = ({ money }: typeof first) => money.days.reduce((sum, { payments }) => sum + payments, 0);
    let moved = first;
    while (sales(moved) <= sales(first)) moved = (await told())!;
    await own.signOut();
    while ((await told()) !== undefined);
  }, 120_000);
});
