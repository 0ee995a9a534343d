import { topology, type Principal } from '@market/contracts';
import { ada } from '../../test/fixtures/ada.js';
import { echo, echoOnBehalf, testTopology } from '../../test/fixtures/contracts.js';
import type { RequestEnvelope } from '../envelope.js';
import { ForgedPrincipal, Principals } from './principals.js';
import { edgePrivateKey, edgePublicKey, parseEdgeKeys } from './service-keys.js';

const MINUTE = 60_000;
const [SEED, OTHER_SEED] = ['SUAEDGE', 'SUATHIEF'];
const principal: Principal = { ...ada, budgets: [] };
const requestOf = (of?: Principal): RequestEnvelope => ({
  meta: { requestId: 'request', remainingMs: 1_000, principal: of },
  data: { text: 'hello' },
});

describe('the principals of requests', () => {
  let now = 0;
  const clock = (): number => now;
  const verify = parseEdgeKeys(edgePublicKey(SEED));
  const edge = new Principals({ sign: edgePrivateKey(SEED), verify }, { serves: {} }, clock);
  const serviceOf = (): Principals => new Principals({ verify }, testTopology.catalog, clock);
  const proofBy = (by: Principals, of = principal): string => by.send(requestOf(of)).meta.proof!;

  beforeEach(() => {
    now = 1_000_000 * MINUTE;
  });

  it('arrive as the edge signed them, and are sent on with the same proof', () => {
    const [first, second] = [serviceOf(), serviceOf()];
    const sent = edge.send(requestOf(principal));
    expect(sent.meta).not.toHaveProperty('principal');
    const received = first.receive(echo.subject, sent);
    expect(received).toEqual(requestOf(principal));
    expect(second.receive(echo.subject, first.send(received))).toEqual(requestOf(principal));
  });

  it('are signed and verified once a minute, and no longer valid after eleven', () => {
    const service = serviceOf();
    const proof = proofBy(edge);
    expect(proofBy(edge)).toBe(proof);
    const { principal: first } = service.receive(echo.subject, edge.send(requestOf(principal))).meta;
    expect(service.receive(echo.subject, edge.send(requestOf(principal))).meta.principal).toBe(first);
    now += MINUTE;
    expect(proofBy(edge)).not.toBe(proof);
    const old = { meta: { ...requestOf().meta, proof }, data: {} };
    now += 9 * MINUTE;
    expect(service.receive(echo.subject, old).meta.principal).toEqual(principal);
    now += MINUTE;
    for (const late of [service, serviceOf()]) expect(() => late.receive(echo.subject, old)).toThrow(ForgedPrincipal);
  });

  it('are refused if anything of them is changed, or another key signed them', () => {
    const proof = proofBy(edge);
    const [claims, signature] = proof.split('.') as [string, string];
    const thief = new Principals({ sign: edgePrivateKey(OTHER_SEED), verify }, { serves: {} }, clock);
    const operator = Buffer.from(JSON.stringify({ principal: { ...principal, isOperator: true }, until: now * 2 }));
    const forged = [
      ...Array.from(
        { length: claims.length },
        (_, at) => claims.slice(0, at) + (claims[at] === 'A' ? 'B' : 'A') + claims.slice(at + 1),
      ).map((changed) => `${changed}.${signature}`),
      `${operator.toString('base64url')}.${signature}`,
      proofBy(thief),
      claims,
      `${claims}.`,
      `.${signature}`,
      '',
      null,
      { toString: null },
    ];
    for (const attempt of forged) {
      const envelope = { meta: { ...requestOf().meta, proof: attempt as string }, data: {} };
      expect(() => serviceOf().receive(echo.subject, envelope)).toThrow(ForgedPrincipal);
    }
  });

  it('are left out where nobody signed them, except where a service may ask on behalf of an account', () => {
    const unsigned = requestOf(principal);
    expect(serviceOf().send(unsigned).meta).not.toHaveProperty('proof');
    expect(serviceOf().receive(echo.subject, unsigned).meta.principal).toBeUndefined();
    expect(serviceOf().receive(echoOnBehalf.subject, unsigned).meta.principal).toEqual(principal);
  });

  it('are valid by each key of the edge while it is replaced', () => {
    const keys = parseEdgeKeys(`${edgePublicKey(OTHER_SEED)}, ${edgePublicKey(SEED)}`);
    const service = new Principals({ verify: keys }, testTopology.catalog, clock);
    expect(service.receive(echo.subject, edge.send(requestOf(principal))).meta.principal).toEqual(principal);
  });

  it('may be named without a proof for one request only, which the gateway alone may send', () => {
    const named = Object.values(topology).flatMap(({ serves }) =>
      Object.values(serves).filter(({ onBehalf }) => onBehalf),
    );
    expect(named.map(({ subject }) => subject)).toEqual(['rpc.payments-ledger.authorize-payment.v1']);
    const callers = Object.entries(topology).filter(([, { calls }]) => calls.includes(named[0]!));
    expect(callers.map(([name]) => name)).toEqual(['gateway']);
  });
});
