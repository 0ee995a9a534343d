import { createHmac, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { SignatureError } from './errors.js';
import { verifyRequest, type SignedRequest } from './seller-signature.js';

const NOW = 1_763_700_000_000;
const secret = `whsec_${randomBytes(32).toString('base64')}`;
const oldSecret = `whsec_${randomBytes(32).toString('base64')}`;

function signed(
  rawBody: string,
  by: string[] = [secret],
  now = NOW,
): SignedRequest & { headers: Record<string, string> } {
  const signatures = by.map((key) => new Webhook(key).sign('call-1', new Date(now), rawBody));
  return {
    rawBody,
    secret,
    now: NOW,
    headers: {
      'X-Market-Request-Id': 'call-1',
      'X-Market-Timestamp': String(now / 1000),
      'X-Market-Signature': signatures.join(' '),
      'X-Market-Event': 'gateway.call',
      'X-Market-Listing-Id': 'listing-1',
      'X-Market-Buyer-Id': 'buyer-1',
      'X-Market-Attempt': '2',
      'X-Market-Deadline': String(NOW / 1000 + 30),
      'X-Market-Max-Response-Bytes': '1048576',
    },
  };
}

const reasonOf = (request: SignedRequest): string => {
  try {
    verifyRequest(request);
    return 'accepted';
  } catch (error) {
    if (error instanceof SignatureError) return error.reason;
    throw error;
  }
};

describe('verifyRequest', () => {
  it('accepts what a Standard Webhooks library signs, and tells what the call is', () => {
    fc.assert(
      fc.property(fc.json(), (body) => {
        expect(verifyRequest(signed(body))).toEqual({
          requestId: 'call-1',
          timestamp: new Date(NOW),
          event: 'gateway.call',
          listingId: 'listing-1',
          buyerId: 'buyer-1',
          attempt: 2,
          deadline: new Date(NOW + 30_000),
          maxResponseBytes: 1_048_576,
          job: null,
        });
      }),
    );
  });

  it('agrees with the formula of the contract', () => {
    const request = signed('{"a":1}');
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    const mac = createHmac('sha256', key)
      .update(`call-1.${NOW / 1000}.{"a":1}`)
      .digest('base64');

    expect(request.headers['X-Market-Signature']).toBe(`v1,${mac}`);
  });

  it('reads the headers of fetch and of node alike', () => {
    const request = signed('{}');

    expect(reasonOf({ ...request, headers: new Headers(request.headers) })).toBe('accepted');
    expect(reasonOf({ ...request, rawBody: Buffer.from('{}') })).toBe('accepted');
  });

  it('refuses any changed byte of body, id, timestamp or signature', () => {
    const fields = ['body', 'X-Market-Request-Id', 'X-Market-Timestamp', 'X-Market-Signature'] as const;
    fc.assert(
      fc.property(
        fc.json().filter((json) => json.length > 1),
        fc.constantFrom(...fields),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (body, field, position, flip) => {
          const request = signed(body);
          const bytes = Buffer.from(field === 'body' ? body : (request.headers[field] ?? ''));
          const at = position % bytes.length;
          bytes[at] = (bytes[at] ?? 0) ^ flip;
          const changed =
            field === 'body'
              ? { ...request, rawBody: bytes }
              : { ...request, headers: { ...request.headers, [field]: bytes.toString('latin1') } };
          expect(reasonOf(changed)).not.toBe('accepted');
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('accepts either secret while a rotation overlaps, and neither another one', () => {
    const both = signed('{}', [secret, oldSecret]);

    expect(reasonOf({ ...both, secret: oldSecret })).toBe('accepted');
    expect(reasonOf({ ...signed('{}', [oldSecret]), secret: [secret, oldSecret] })).toBe('accepted');
    expect(reasonOf(signed('{}', [oldSecret]))).toBe('no_matching_signature');
    expect(reasonOf({ ...both, secret: [] })).toBe('no_matching_signature');
  });

  it.each([NaN, -1, Number('five minutes')])(
    'accepts no request within a tolerance of %p seconds',
    (toleranceSeconds) => {
      expect(() => verifyRequest({ ...signed('{}', [secret], 0), toleranceSeconds })).toThrow(TypeError);
    },
  );

  it('accepts no request where the clock is none', () => {
    expect(reasonOf({ ...signed('{}'), now: NaN })).toBe('outside_tolerance');
  });

  it.each([
    [-300, 'accepted'],
    [300, 'accepted'],
    [-301, 'outside_tolerance'],
    [301, 'outside_tolerance'],
  ])('takes a request signed %d seconds from now as %s', (seconds, expected) => {
    expect(reasonOf(signed('{}', [secret], NOW + seconds * 1000))).toBe(expected);
  });

  it('refuses a request that misses a signed header, or whose id could move the boundary of the signed text', () => {
    const { headers, ...request } = signed('{}');

    expect(reasonOf({ ...request, headers: {} })).toBe('missing_header');
    expect(reasonOf({ ...request, headers: { ...headers, 'X-Market-Request-Id': 'a.1' } })).toBe('malformed_header');
    expect(reasonOf({ ...request, headers: { ...headers, 'X-Market-Signature': 'v1' } })).toBe('malformed_header');
  });

  it.each(['', 'whsec_', 'whsec_c2hvcnQ=', 'plain'])('never works with %p as a secret', (weak) => {
    expect(() => verifyRequest({ ...signed('{}'), secret: weak })).toThrow(TypeError);
  });
});
