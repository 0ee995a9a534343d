import { countOf, TEST_SEED } from '@market/test-servers/threats';
import * as fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { refuseSellerAuthHeader } from './seller-auth-header.js';
import { signRequest, type RequestToSign } from './sign-request.js';
import { newSigningSecret } from './signing-secret.js';

const secret = newSigningSecret();
const request: RequestToSign = {
  secrets: [secret],
  requestId: '0198c0de-7a11-7000-8000-000000000001',
  timestampSeconds: Math.floor(Date.now() / 1_000),
  rawBody: Buffer.from('{"question": "¿qué?", "n": 1.0}'),
  event: 'gateway.call',
  listingId: '0198c0de-7a11-7000-8000-000000000002',
  buyerId: '0198c0de-7a11-7000-8000-000000000003',
  attempt: 2,
  maxResponseBytes: 1_048_576,
  deadlineSeconds: 1_763_650_100,
  hops: ['other.example', 'market.example'],
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  authHeader: { name: 'Authorization', value: 'Bearer seller-secret' },
};

function verifies(key: string, body: Buffer | string, headers: Record<string, string>): boolean {
  try {
    new Webhook(key).verify(body, headers, { jsonParse: false });
    return true;
  } catch {
    return false;
  }
}

describe('signRequest', () => {
  it('sets exactly the headers of a forwarded request', () => {
    const signature = expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/);
    const timestamp = String(request.timestampSeconds);
    expect(signRequest(request)).toEqual({
      Authorization: 'Bearer seller-secret',
      'Content-Type': 'application/json',
      'Accept-Encoding': 'identity',
      'User-Agent': 'AgentMarketplace/1.0',
      'X-Market-Request-Id': request.requestId,
      'X-Market-Timestamp': timestamp,
      'X-Market-Signature': signature,
      'X-Market-Key-Id': secret.keyId,
      'X-Market-Event': 'gateway.call',
      'X-Market-Listing-Id': request.listingId,
      'X-Market-Buyer-Id': request.buyerId,
      'X-Market-Attempt': '2',
      'X-Market-Max-Response-Bytes': '1048576',
      'X-Market-Deadline': '1763650100',
      'X-Market-Hop': 'other.example, market.example',
      'webhook-id': request.requestId,
      'webhook-timestamp': timestamp,
      'webhook-signature': signature,
      traceparent: request.traceparent,
    });
  });

  it('reserves every header it sets, so that a seller’s own can replace none', () => {
    for (const name of Object.keys(signRequest({ ...request, authHeader: null }))) {
      expect(refuseSellerAuthHeader({ name, value: 'v' })).toBe('reserved_name');
    }
  });

  it('is verified by a Standard Webhooks library, for any body', () => {
    fc.assert(
      fc.property(fc.json(), (rawBody) => {
        expect(verifies(secret.secret, rawBody, signRequest({ ...request, rawBody }))).toBe(true);
        expect(
          verifies(secret.secret, Buffer.from(rawBody), signRequest({ ...request, rawBody: Buffer.from(rawBody) })),
        ).toBe(true);
      }),
    );
  });

  it('signs alike under both names', () => {
    const headers = signRequest(request);
    expect(headers['webhook-signature']).toBe(headers['X-Market-Signature']);
  });

  it('is broken by a change of any byte of body, id, timestamp or signature', () => {
    fc.assert(
      fc.property(fc.json(), fc.integer({ min: 1, max: 127 }), (text, flip) => {
        const headers = signRequest({ ...request, rawBody: text });
        const changed = (value: string): string[] =>
          [...value].map(
            (_, at) => value.slice(0, at) + String.fromCharCode(value.charCodeAt(at) ^ flip) + value.slice(at + 1),
          );
        expect(changed(text).filter((body) => verifies(secret.secret, body, headers))).toEqual([]);
        for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
          expect(
            changed(headers[name]!).filter((value) => verifies(secret.secret, text, { ...headers, [name]: value })),
          ).toEqual([]);
        }
      }),
      { seed: TEST_SEED, numRuns: countOf('signedRequests') },
    );
  });

  it('is not verified under another secret', () => {
    expect(verifies(newSigningSecret().secret, request.rawBody, signRequest(request))).toBe(false);
  });

  it('is verified under both secrets while a rotation overlaps, and names the new one', () => {
    const next = newSigningSecret();
    const headers = signRequest({ ...request, secrets: [next, secret] });
    expect(headers['X-Market-Signature']).toMatch(/^v1,\S+ v1,\S+$/);
    expect(headers['X-Market-Key-Id']).toBe(next.keyId);
    expect(verifies(next.secret, request.rawBody, headers)).toBe(true);
    expect(verifies(secret.secret, request.rawBody, headers)).toBe(true);
  });

  it.each([
    '',
    'garbage',
    '00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01',
    '00-0af7-b7ad-01\r\nX-A: b',
    undefined,
  ])('leaves out the trace context %j', (traceparent) =>
    expect(signRequest({ ...request, traceparent })).not.toHaveProperty('traceparent'),
  );

  it('refuses an id that would make the signed text ambiguous', () => {
    expect(() => signRequest({ ...request, requestId: 'a.b' })).toThrow(TypeError);
  });
});

describe('newSigningSecret', () => {
  it('makes a new 32-byte secret under a new name each time', () => {
    const [one, other] = [newSigningSecret(), newSigningSecret()];
    expect(one.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(one.keyId).toMatch(/^key_[A-Za-z0-9_-]{12}$/);
    expect(other.secret).not.toBe(one.secret);
    expect(other.keyId).not.toBe(one.keyId);
  });
});
