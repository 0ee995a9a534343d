import { topology, type OutputOf, type RequestOf } from '@market/contracts';
import { authenticate, createChallenge, hashApiKey, register, type ChallengePurpose } from '@market/contracts/identity';
import { solvesProofOfWork } from '@market/kernel';
import { inProcessTransport, MessageBus, newCall, Refusal, type Call, type Link } from '@market/messaging';
import { runProcess, type RunningProcess } from '@market/runtime';
import { freshDatabase, type FreshDatabase } from '@market/testing';
import { randomBytes } from 'node:crypto';
import { identityDatabase } from '../../src/database.js';
import { identity } from '../../src/service.js';
import type { TestWallet } from './test-wallets.js';

export type Challenge = OutputOf<typeof createChallenge>;
export type Registration = OutputOf<typeof register>;

/** The identity service on a database of its own, seen from the edge. */
export interface IdentityWorld {
  bus: MessageBus;
  link: Link;
  running: RunningProcess;
  db: FreshDatabase;
  challenge(wallet: Pick<TestWallet, 'address'>, purpose?: ChallengePurpose): Promise<Challenge>;
  /** The whole of a registration; `changes` replaces parts of what is sent. */
  register(wallet: TestWallet, changes?: Partial<RequestOf<typeof register>>): Promise<Registration>;
  /** A call as the edge makes it for this key. */
  callWith(key: string, values?: Partial<Call>): Promise<Call>;
  stop(): Promise<void>;
}

export async function startIdentity(env: Record<string, string> = {}): Promise<IdentityWorld> {
  const db = await freshDatabase(identityDatabase);
  const transport = inProcessTransport();
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
  const challenge: IdentityWorld['challenge'] = ({ address }, purpose) => bus.request(createChallenge, { walletAddress: address, purpose }, newCall());
  return {
    bus,
    link,
    running,
    db,
    challenge,
    async register(wallet, changes = {}) {
      const { message, nonce, pow } = await challenge(wallet);
      const answer = { walletAddress: wallet.address, signature: await wallet.sign(message), nonce, powNonce: solve(pow), ...changes };
      return bus.request(register, answer, newCall());
    },
    async callWith(key, values) {
      return newCall({ principal: await bus.request(authenticate, { keyHash: hashApiKey(key)! }, newCall()), ...values });
    },
    async stop() {
      await running.stop();
      await db.drop();
    },
  };
}

export function solve({ challenge, difficulty }: Challenge['pow']): string {
  for (let attempt = 0; ; attempt += 1) if (solvesProofOfWork(challenge, attempt.toString(36), difficulty)) return attempt.toString(36);
}

/** The reason of a refusal; any other outcome is an error of the test. */
export async function reasonOf(outcome: Promise<unknown>): Promise<string> {
  const error = await outcome.then(
    () => new Error('it was not refused'),
    (reason: unknown) => reason,
  );
  if (error instanceof Refusal) return error.reason;
  throw error;
}
