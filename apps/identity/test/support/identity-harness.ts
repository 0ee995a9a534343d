import { topology, type OutputOf, type Principal, type RequestOf } from '@market/contracts';
import {
  authenticate,
  createChallenge,
  hashApiKey,
  hashSessionToken,
  openSession,
  register,
  type ChallengePurpose,
  type walletProof,
  type workProof,
} from '@market/contracts/identity';
import { solvesProofOfWork } from '@market/kernel';
import {
  inProcessTransport,
  MessageBus,
  newRequestContext,
  Refusal,
  type RequestContext,
  type Link,
  type Transport,
} from '@market/messaging';
import { runProcess, type RunningProcess } from '@market/runtime';
import { freshDatabase, type FreshDatabase } from '@market/testing';
import { randomBytes } from 'node:crypto';
import type { z } from 'zod';
import { identityDatabase } from '../../src/database.js';
import { identity } from '../../src/service.js';
import { evmTestWallet, type TestWallet } from './test-wallets.js';

export type Challenge = OutputOf<typeof createChallenge>;
type Registration = OutputOf<typeof register>;

/** The answer to a challenge of any purpose. */
export type Proof = z.output<typeof walletProof>;
export type WorkProof = z.output<typeof workProof>;

interface ChallengeOptions {
  agentId?: string;
  claimCode?: string;
  chainId?: number;
  by?: Known;
}

/** A caller that the edge has authenticated: an agent by its key, a human by a session. */
export interface Known {
  id: string;
  wallet: TestWallet;
  /** A new context on each access. */
  readonly context: RequestContext;
  /** The key or the session token. */
  credential: string;
}

/** The identity service on its own database, with the edge as its client. */
export interface IdentityHarness {
  bus: MessageBus;
  /** A bus on which the gateway service is the client. */
  gatewayBus: MessageBus;
  ledgerBus: MessageBus;
  link: Link;
  running: RunningProcess;
  db: FreshDatabase;
  challenge(
    wallet: Pick<TestWallet, 'address'>,
    purpose?: ChallengePurpose,
    more?: ChallengeOptions,
  ): Promise<Challenge>;
  prove(wallet: TestWallet, purpose: ChallengePurpose, more?: ChallengeOptions): Promise<Proof>;
  proveWithWork(wallet: TestWallet, purpose: ChallengePurpose, more?: ChallengeOptions): Promise<WorkProof>;
  agent(wallet?: TestWallet): Promise<Known>;
  human(wallet?: TestWallet): Promise<Known>;
  /** Registers an agent; `changes` replaces parts of the request. */
  register(wallet: TestWallet, changes?: Partial<RequestOf<typeof register>>): Promise<Registration>;
  /** The context that the edge creates for this key. */
  contextWith(key: string, values?: Partial<RequestContext>): Promise<RequestContext>;
  stop(): Promise<void>;
}

export async function startIdentity(
  env: Record<string, string> = {},
  transport: Transport = inProcessTransport(),
): Promise<IdentityHarness> {
  const db = await freshDatabase(identityDatabase);
  const running = await runProcess([identity], transport, {
    DATABASE_URL: db.url,
    ENCRYPTION_KEYS: `test:${randomBytes(32).toString('base64')}`,
    PUBLIC_URL: 'https://market.example',
    REGISTRATION_POW_DIFFICULTY: '1',
    LOG_LEVEL: 'error',
    ...env,
  });
  const link = await transport.connect('api-gateway', topology['api-gateway']);
  const bus = new MessageBus(link, topology['api-gateway']);
  const gatewayBus = new MessageBus(await transport.connect('gateway', topology.gateway), topology.gateway);
  const ledgerBus = new MessageBus(
    await transport.connect('payments-ledger', topology['payments-ledger']),
    topology['payments-ledger'],
  );
  const challenge: IdentityHarness['challenge'] = ({ address }, purpose, { by, agentId, claimCode, chainId } = {}) =>
    bus.request(
      createChallenge,
      { wallet_address: address, purpose, agent_id: agentId, claim_code: claimCode, chain_id: chainId },
      newRequestContext({ principal: by?.context.principal }),
    );
  const answer = async (wallet: TestWallet, purpose: ChallengePurpose, more?: ChallengeOptions) => {
    const { message, nonce, pow } = await challenge(wallet, purpose, more);
    const proof = { wallet_address: wallet.address, signature: await wallet.sign(message), nonce };
    return { proof, pow_nonce: solve(pow) };
  };
  const prove: IdentityHarness['prove'] = async (...asked) => (await answer(...asked)).proof;
  const proveWithWork: IdentityHarness['proveWithWork'] = async (...asked) => {
    const { proof, pow_nonce } = await answer(...asked);
    return { ...proof, pow_nonce };
  };
  const registerWallet: IdentityHarness['register'] = async (wallet, changes = {}) =>
    bus.request(register, { ...(await proveWithWork(wallet, 'registration')), ...changes }, newRequestContext());
  const contextWith: IdentityHarness['contextWith'] = async (key, values) =>
    newRequestContext({
      principal: await bus.request(authenticate, { keyHash: hashApiKey(key)! }, newRequestContext()),
      ...values,
    });
  return {
    bus,
    gatewayBus,
    ledgerBus,
    link,
    running,
    db,
    challenge,
    prove,
    proveWithWork,
    register: registerWallet,
    contextWith,
    async agent(wallet = evmTestWallet()) {
      const registration = await registerWallet(wallet);
      const { principal } = await contextWith(registration.api_key);
      return knownBy(principal!, wallet, registration.api_key);
    },
    async human(wallet = evmTestWallet()) {
      const { session_token: token } = await bus.request(
        openSession,
        await prove(wallet, 'session'),
        newRequestContext(),
      );
      const principal = await bus.request(
        authenticate,
        { keyHash: hashSessionToken(token)!, kind: 'session' },
        newRequestContext(),
      );
      return knownBy(principal, wallet, token);
    },
    async stop() {
      await running.stop();
      await db.drop();
    },
  };
}

const knownBy = (principal: Principal, wallet: TestWallet, credential: string): Known => ({
  id: principal.accountId,
  wallet,
  credential,
  get context() {
    return newRequestContext({ principal });
  },
});

export function solve({ challenge, difficulty }: Challenge['pow']): string {
  for (let attempt = 0; ; attempt += 1)
    if (solvesProofOfWork(challenge, attempt.toString(36), difficulty)) return attempt.toString(36);
}

/** Returns the reason of a refusal; fails if there is another outcome. */
export async function reasonOf(outcome: Promise<unknown>): Promise<string> {
  const error = await outcome.then(
    () => new Error('it was not refused'),
    (reason: unknown) => reason,
  );
  if (error instanceof Refusal) return error.reason;
  throw error;
}
