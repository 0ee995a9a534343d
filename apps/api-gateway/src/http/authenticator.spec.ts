import { mock } from 'node:test';
import { authenticate } from '@market/contracts/identity';
import { newId } from '@market/kernel';
import { newRequestContext } from '@market/messaging';
import { FakeBus } from '@market/testing';
import { Authenticator, KEY_CACHE_TTL_MS } from './authenticator.js';
import type { Credential } from './bearer-key.js';

const keyHash = 'a'.repeat(64);
const key: Credential = { kind: 'api_key', hash: keyHash };
const principal = () => ({
  accountId: newId(),
  accountType: 'agent' as const,
  role: 'both' as const,
  displayName: 'A',
  keyId: newId(),
  scopes: ['read' as const],
});

describe('Authenticator', () => {
  let nowMs = 0;
  beforeEach(() => {
    nowMs = 1_000;
    mock.method(performance, 'now', () => nowMs);
  });
  afterEach(() => mock.restoreAll());

  it('asks once for a key that many requests carry at once', async () => {
    const known = principal();
    const bus = new FakeBus('api-gateway').answers(authenticate, () => known);
    const authenticator = new Authenticator(bus);
    const answers = await Promise.all(Array.from({ length: 50 }, () => authenticator.ask(key, newRequestContext())));
    expect(answers).toEqual(Array.from({ length: 50 }, () => known));
    expect(bus.asked(authenticate)).toHaveLength(1);
  });

  it('remembers a key for one second from the question, and not a moment longer', async () => {
    const bus = new FakeBus('api-gateway').answers(authenticate, () => {
      nowMs += 400;
      return principal();
    });
    const authenticator = new Authenticator(bus);
    await authenticator.ask(key, newRequestContext());
    nowMs = 1_000 + KEY_CACHE_TTL_MS;
    expect(authenticator.known(key)).toBeDefined();
    nowMs += 0.001;
    expect(authenticator.known(key)).toBeUndefined();
  });

  it('forgets a revoked key at once', async () => {
    const authenticator = new Authenticator(new FakeBus('api-gateway').answers(authenticate, principal));
    await authenticator.ask(key, newRequestContext());
    authenticator.forget({ keyHash });
    expect(authenticator.known(key)).toBeUndefined();
  });

  it('does not keep an answer that a revocation has overtaken', async () => {
    const authenticator = new Authenticator(new FakeBus('api-gateway').answers(authenticate, principal));
    const asked = authenticator.ask(key, newRequestContext());
    authenticator.forget({ keyHash });
    await asked;
    expect(authenticator.known(key)).toBeUndefined();
  });

  it('remembers no refusal', async () => {
    const bus = new FakeBus('api-gateway').refuses(authenticate, 'key_invalid', {});
    const authenticator = new Authenticator(bus);
    await expect(authenticator.ask(key, newRequestContext())).rejects.toMatchObject({ reason: 'key_invalid' });
    bus.answers(authenticate, principal);
    await expect(authenticator.ask(key, newRequestContext())).resolves.toBeDefined();
  });

  it('keeps a bounded number of keys', async () => {
    const authenticator = new Authenticator(new FakeBus('api-gateway').answers(authenticate, principal));
    const keys = Array.from({ length: 10_050 }, (_, index): Credential => ({
      kind: 'api_key',
      hash: index.toString(16).padStart(64, '0'),
    }));
    for (let from = 0; from < keys.length; from += 1_000)
      await Promise.all(keys.slice(from, from + 1_000).map((each) => authenticator.ask(each, newRequestContext())));
    expect(keys.filter((each) => authenticator.known(each))).toHaveLength(10_000);
    expect(authenticator.known(keys[0]!)).toBeUndefined();
  });
});
