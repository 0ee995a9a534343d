import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { reply, sellerServer, type SellerServer } from './seller-server.js';

const secret = `whsec_${randomBytes(32).toString('base64')}`;

describe('sellerServer', () => {
  let server: SellerServer;
  let secrets: string[];
  let errors: unknown[];

  beforeEach(async () => {
    secrets = [secret];
    errors = [];
    server = await sellerServer<{ text: string }>(
      ({ body, call }) => {
        if (body.text === 'break') throw new Error('a bug');
        if (body.text === 'loop') return Object.assign(body, { body });
        return body.text === 'teapot'
          ? reply(418, { short: true })
          : { upper: body.text.toUpperCase(), id: call.requestId };
      },
      { secret: () => secrets, onError: (error) => void errors.push(error) },
    );
  });
  afterEach(() => server.close());

  async function post(text: string, signer = secret): Promise<{ status: number; body: unknown }> {
    const rawBody = JSON.stringify({ text });
    const now = new Date();
    const response = await fetch(server.url, {
      method: 'POST',
      body: rawBody,
      headers: {
        'X-Market-Request-Id': 'call-1',
        'X-Market-Timestamp': String(Math.floor(now.getTime() / 1000)),
        'X-Market-Signature': new Webhook(signer).sign('call-1', now, rawBody),
      },
    });
    return { status: response.status, body: await response.json() };
  }

  it('hands a signed call to the handler and answers with what it returns', async () => {
    expect(await post('hé')).toEqual({ status: 200, body: { upper: 'HÉ', id: 'call-1' } });
    expect(await post('teapot')).toEqual({ status: 418, body: { short: true } });
  });

  it('lets nobody else in', async () => {
    const stranger = `whsec_${randomBytes(32).toString('base64')}`;

    expect(await post('x', stranger)).toEqual({ status: 401, body: { error: 'no_matching_signature' } });
    expect((await fetch(server.url)).status).toBe(401);
    secrets = [];
    expect((await post('x')).status).toBe(401);
  });

  it.each([
    ['break', 'a bug'],
    ['loop', 'circular'],
  ])('answers 500 without a word about why when the handler fails (%s), and tells the seller', async (text, why) => {
    expect(await post(text)).toEqual({ status: 500, body: { error: 'internal_error' } });
    expect(errors).toEqual([expect.objectContaining({ message: expect.stringContaining(why) as string })]);
  });
});
