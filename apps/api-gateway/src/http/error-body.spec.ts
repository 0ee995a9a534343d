import { topology } from '@market/contracts';
import { createOffer } from '@market/contracts/payments-ledger';
import { NEXT_ACTIONS, REFUSAL_KINDS } from '@market/kernel';
import { BusFailure, Refusal, refuse, refusePlatform } from '@market/messaging';
import { NotFoundException } from '@nestjs/common';
import { readFileSync } from 'node:fs';
import { guidanceLinks, toHttpError } from './error-body.js';
import { HTTP_BY_KIND, HTTP_BY_STATUS } from './http-status-by-kind.js';
import { edgeRefusals, unauthorized } from './edge-refusals.js';

const LINKS = guidanceLinks('https://market.test');
const render = (error: unknown) => toHttpError(error, 'req-1', LINKS);

describe('an error over HTTP', () => {
  it('has the status and code of its kind, its reason, and what to do next', () => {
    expect(render(refusePlatform('idempotency_in_progress', { retry_after_seconds: 1 }))).toEqual({
      status: 409,
      bug: false,
      body: {
        success: false,
        error: {
          code: 'CONFLICT',
          message: 'A request with this Idempotency-Key is still running',
          details: { reason: 'idempotency_in_progress', retry_after_seconds: 1 },
          recovery: { next_action: 'retry_same_request', keep: ['Idempotency-Key'], drop: [], links: LINKS },
        },
      },
    });
  });

  it('of the edge is on the page of errors', () => {
    const page = readFileSync(new URL('../../../../docs/errors.md', import.meta.url), 'utf8');
    const reasons = [...Object.keys(edgeRefusals), ...Object.values(HTTP_BY_STATUS).map(({ reason }) => reason)];
    expect(reasons.filter((reason) => !page.includes(`\`${reason}\``))).toEqual([]);
  });

  it('points to where guidance really lies', () => {
    expect(LINKS).toEqual({
      docs: 'https://market.test/docs/errors',
      openapi: 'https://market.test/api/v1/openapi.json',
      llms: 'https://market.test/llms.txt',
    });
  });

  it('is 5xx for a refusal only where something is out of reach, and always names a next action out of the closed set', () => {
    expect(REFUSAL_KINDS.filter((kind) => HTTP_BY_KIND[kind].status >= 500)).toEqual(['unavailable']);
    for (const contract of topology['api-gateway'].calls) {
      for (const [reason, declaration] of Object.entries(contract.refusals)) {
        const { status, body } = render(new Refusal(reason, declaration, {}));
        expect(status).toBe(HTTP_BY_KIND[declaration.kind].status);
        expect(NEXT_ACTIONS).toContain(body.error.recovery!.next_action);
      }
    }
  });

  it('says of a low price on an unfit route exactly what the contract says, and nothing more', () => {
    const details = {
      seller_endpoint_called: false as const,
      recommended_origin_currency: 'SOL' as const,
      recommended_gateway_headers: { 'X-Market-Origin-Currency': 'SOL' as const },
    };
    const { status, body } = render(refuse(createOffer, 'payment_route_minimum_not_met', details));
    expect(status).toBe(400);
    expect(body.error).toEqual({
      code: 'PAYMENT_ROUTE_MINIMUM_NOT_MET',
      message: expect.any(String),
      details,
      recovery: {
        next_action: 'retry_with_solana_payment_route',
        retry_same_route: false,
        use_new_idempotency_key: true,
      },
    });
  });

  it('is the same for every key that is not good', () => {
    const unknownKey = new Refusal(
      'key_invalid',
      { kind: 'unauthenticated', message: 'revoked on Tuesday', details: unauthorized().declaration.details },
      { since: 'Tuesday' },
    );
    expect(render(unknownKey)).toEqual(render(unauthorized()));
    expect(render(unauthorized()).body.error.recovery).toMatchObject({
      next_action: 'authenticate',
      links: { register: 'https://market.test/api/v1/register' },
    });
  });

  it.each([
    [new NotFoundException(), 404, 'NOT_FOUND'],
    [{ statusCode: 413 }, 413, 'PAYLOAD_TOO_LARGE'],
    [{ statusCode: 415 }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    [Object.assign(new Error('odd'), { statusCode: 418 }), 400, 'BAD_REQUEST'],
    [{ statusCode: 431 }, 431, 'BAD_REQUEST'],
  ])('of the layers below has the envelope too', (error, status, code) => {
    const rendered = render(error);
    expect(rendered).toMatchObject({ status, bug: false, body: { success: false, error: { code } } });
  });

  it.each([
    new BusFailure('rpc.x failed'),
    new Error('secret am_k_x'),
    'thrown text',
    undefined,
    null,
    { statusCode: 502 },
  ])('of a bug tells the request id and nothing else', (error) => {
    expect(render(error)).toEqual({
      status: 500,
      bug: true,
      body: {
        success: false,
        error: { code: 'INTERNAL_ERROR', message: expect.any(String), details: { request_id: 'req-1' } },
      },
    });
    expect(JSON.stringify(render(error))).not.toContain('am_k_');
  });
});
