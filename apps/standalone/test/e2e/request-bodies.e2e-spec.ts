import { evmWallet, sandboxPayer, x402Payer } from '@market/sdk';
import type { SellerRequest } from '@market/sdk/seller';
import { createHash, randomBytes } from 'node:crypto';
import { reasonOf } from '../support/buyer.js';
import { inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';
import { openShop, type Shop } from '../support/seller.js';

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const PNG = randomBytes(1_000);

inEachMode('bodies that are no JSON', (harness) => {
  let [seller, buyer]: Agent[] = [];
  let [shop, free, json]: Shop[] = [];

  beforeAll(async () => {
    [seller, buyer] = await Promise.all([registerAgent(harness), registerAgent(harness)]);
    const handler = async ({ contentType, rawBody }: SellerRequest): Promise<object> => {
      if (!contentType.startsWith('multipart/')) return { contentType, sha256: sha256(rawBody) };
      const form = await new Response(Buffer.from(rawBody), { headers: { 'content-type': contentType } }).formData();
      const file = form.get('file') as File;
      return { name: file.name, type: file.type, sha256: sha256(Buffer.from(await file.arrayBuffer())) };
    };
    const request_formats = ['json', 'png', 'multipart/form-data'];
    const schema = { input_schema: { type: 'object', required: ['city'] }, example_input: { city: 'Bern' } };
    [shop, free, json] = await Promise.all([
      openShop(seller, handler, { request_formats, ...schema }),
      openShop(seller, handler, { request_formats: ['png'], pricing_amount: 0 }),
      openShop(seller),
    ]);
  });
  afterAll(() => Promise.all([shop, free, json].map((opened) => opened?.close())));

  const ask = (
    { listing }: Shop,
    body: Uint8Array | string,
    contentType: string,
    headers: Record<string, string> = {},
    route = 'gateway',
  ) =>
    (route === 'gateway' ? buyer!.market : stranger(harness)).send('POST', `/${route}/${listing.slug}`, {
      rawBody: body,
      headers: { 'content-type': contentType, ...headers },
    });

  it('are forwarded as they came, and paid for once', async () => {
    const asked = await ask(shop!, PNG, 'image/png');
    expect(asked.status).toBe(402);
    const { relay_request_id } = (asked.json as { data: { payment: { relay_request_id: string } } }).data.payment;
    await buyer!.market.sandbox.pay(relay_request_id);
    const paid = { 'X-Market-Relay-Request-Id': relay_request_id };
    const other = await ask(shop!, randomBytes(10), 'image/png', paid);
    expect([other.status, reasonOf(other)]).toEqual([409, 'request_body_mismatch']);
    const answer = await ask(shop!, PNG, 'image/png', paid);
    expect(answer.json).toMatchObject({
      data: { billable: true, seller_response: { contentType: 'image/png', sha256: sha256(PNG) } },
    });
    expect((await ask(shop!, PNG, 'image/png', paid)).text).toBe(answer.text);
    const { request_id } = (answer.json as { data: { request_id: string } }).data;
    expect(shop!.deliveries.timesCalled(request_id)).toBe(1);
    expect(await buyer!.market.gatewayRequests.get(request_id)).toMatchObject({ request_digest: sha256(PNG) });
  });

  it('are forms and files for clients of the SDK, with a key and without', async () => {
    const form = new FormData();
    form.set('file', new Blob([PNG], { type: 'image/png' }), 'a.png');
    const pay = sandboxPayer(buyer!.market);
    const wanted = { name: 'a.png', type: 'image/png', sha256: sha256(PNG) };
    expect((await buyer!.market.call(shop!.listing, form, { pay })).seller_response).toEqual(wanted);
    const signed = { pay: x402Payer(evmWallet(), { 'eip155:84532': {} }) };
    expect((await stranger(harness).call(shop!.listing, form, signed)).seller_response).toEqual(wanted);
    const png = new Blob([PNG], { type: 'image/png' });
    expect((await stranger(harness).call(shop!.listing, png, signed)).seller_response).toMatchObject({
      sha256: sha256(PNG),
    });
    expect((await buyer!.market.call(free!.listing, png)).billable).toBe(true);
  });

  it('are refused before they cost anything where the listing takes none', async () => {
    const refusals: [Shop, Uint8Array | string, string, string?][] = [
      [json!, PNG, 'image/png'],
      [json!, PNG, 'image/png', 'x402'],
      [json!, 'a=1', 'multipart/form-data; boundary=x', 'x402'],
      [shop!, PNG, 'image/gif'],
      [free!, '{}', 'application/json'],
    ];
    for (const [of, body, type, route] of refusals) {
      const refused = await ask(of, body, type, {}, route);
      expect([type, refused.status, reasonOf(refused)]).toEqual([type, 415, 'format_not_taken']);
    }
    expect(reasonOf(await ask(shop!, '{}', 'application/json'))).toBe('request_body_misfit');
    await seller!.market.endpoint.update(shop!.listing, { limits: { max_request_bytes: 1_024 } });
    const tooLarge = await ask(shop!, randomBytes(1_025), 'image/png');
    expect([tooLarge.status, reasonOf(tooLarge)]).toEqual([413, 'request_body_too_large']);
  });
});
