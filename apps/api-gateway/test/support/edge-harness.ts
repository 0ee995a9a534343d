import { topology, type Principal, type RequestContract, type Scope, type SignalContract } from '@market/contracts';
import {
  CREDENTIAL_SECRET_LENGTH,
  apiKeyOf,
  authenticate,
  getOwnedAgent,
  hashApiKey,
  hashSessionToken,
  sessionTokenOf,
} from '@market/contracts/identity';
import { newId } from '@market/kernel';
import {
  BusFailure,
  Refusal,
  refuse,
  toRequestContext,
  type Link,
  type ReplyEnvelope,
  type RequestEnvelope,
  type Transport,
} from '@market/messaging';
import { runProcess, type RunningProcess } from '@market/runtime';
import { FakeBus } from '@market/testing';
import { apiGateway } from '../../src/service.js';

export const ENVIRONMENT = {
  PORT: '0',
  PUBLIC_URL: 'https://market.test',
  ENCRYPTION_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
  LOG_LEVEL: 'fatal',
  RATE_LIMITS: 'off',
};

const CONTRACTS = new Map<string, RequestContract>(
  topology['api-gateway'].calls.map((contract) => [contract.subject, contract]),
);

/**
 * Runs the real edge on a free port. Tests define the answers of the other services, which are checked against the
 * contracts.
 */
export class EdgeHarness {
  private readonly principals = new Map<string, Principal>();
  /** Claimed agents by their id and the id of their human. */
  private readonly claims = new Map<string, Principal>();

  private constructor(
    readonly bus: FakeBus,
    private readonly listeners: Map<string, (payload: unknown) => void>,
    private readonly process: RunningProcess,
  ) {
    bus.answers(authenticate, ({ keyHash }) => {
      const principal = this.principals.get(keyHash);
      if (!principal) throw refuse(authenticate, 'key_invalid', {});
      return principal;
    });
    bus.answers(getOwnedAgent, ({ agentId }, { principal: human }) => {
      const agent = this.claims.get(`${agentId} ${human?.accountId}`);
      if (!agent) throw refuse(getOwnedAgent, 'agent_not_found', {});
      const { accountId, accountType, role, displayName } = agent;
      return { accountId, accountType, role, displayName, isSuspended: false };
    });
  }

  static async start(environment: Record<string, string> = {}): Promise<EdgeHarness> {
    const bus = new FakeBus('api-gateway');
    const listeners = new Map<string, (payload: unknown) => void>();
    const process = await runProcess([apiGateway], transportOver(bus, listeners), { ...ENVIRONMENT, ...environment });
    return new EdgeHarness(bus, listeners, process);
  }

  get port(): number {
    return this.process.httpPort!;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Creates an account with a key with these scopes. */
  agent(
    scopes: Scope[] = ['read', 'write', 'subscribe'],
    displayName = 'Tester',
  ): { key: string; keyHash: string; principal: Principal } {
    const key = apiKeyOf(newId().replaceAll('-', '').padEnd(CREDENTIAL_SECRET_LENGTH, 'x'));
    const principal: Principal = {
      accountId: newId(),
      accountType: 'agent',
      role: 'both',
      displayName,
      keyId: newId(),
      scopes,
    };
    const keyHash = hashApiKey(key)!;
    this.principals.set(keyHash, principal);
    return { key, keyHash, principal };
  }

  /** Creates a human with a session. */
  human(): { token: string; keyHash: string; principal: Principal } {
    const token = sessionTokenOf(newId().replaceAll('-', '').padEnd(CREDENTIAL_SECRET_LENGTH, 'x'));
    const principal: Principal = {
      accountId: newId(),
      accountType: 'human',
      role: 'both',
      displayName: 'Operator',
      keyId: newId(),
      scopes: [],
    };
    const keyHash = hashSessionToken(token)!;
    this.principals.set(keyHash, principal);
    return { token, keyHash, principal };
  }

  /** Creates a human with a session, and an agent that it has claimed. */
  owner(): { token: string; keyHash: string; principal: Principal; agent: Principal } {
    const [human, { principal: agent }] = [this.human(), this.agent()];
    this.claims.set(`${agent.accountId} ${human.principal.accountId}`, agent);
    return { ...human, agent };
  }

  /** Creates another key of an account. */
  keyFor(principal: Principal): string {
    const key = apiKeyOf(newId().replaceAll('-', '').padEnd(CREDENTIAL_SECRET_LENGTH, 'y'));
    this.principals.set(hashApiKey(key)!, { ...principal, keyId: newId() });
    return key;
  }

  /** Makes identity refuse the key from now on, without sending a signal. */
  revokeSilently(keyHash: string): void {
    this.principals.delete(keyHash);
  }

  signal(contract: SignalContract, payload: unknown): void {
    this.listeners.get(contract.subject)?.(payload);
  }

  stop(): Promise<void> {
    return this.process.stop();
  }
}

/** For starts in which no service is asked anything. */
export const silentTransport = (): Transport => transportOver(new FakeBus('api-gateway'), new Map());

function transportOver(bus: FakeBus, listeners: Map<string, (payload: unknown) => void>): Transport {
  const nothing = async (): Promise<void> => undefined;
  return {
    async connect(): Promise<Link> {
      return {
        server: {
          getHandlers: () => new Map<string, unknown>(),
          listen: () => undefined,
          close: () => undefined,
        } as unknown as Link['server'],
        request: (subject, message) => replyOf(bus, subject, message),
        publishEvents: nothing,
        consumeEvents: nothing,
        signal: () => undefined,
        async onSignal(subject, listener) {
          listeners.set(subject, listener);
        },
        disconnectedSince: null,
        close: nothing,
      };
    },
    close: nothing,
  };
}

async function replyOf(bus: FakeBus, subject: string, envelope: RequestEnvelope): Promise<ReplyEnvelope> {
  const context = toRequestContext(envelope);
  try {
    return { ok: await bus.request(CONTRACTS.get(subject)!, envelope.data as never, context), notes: context.reply };
  } catch (error) {
    if (error instanceof Refusal) return { refused: { reason: error.reason, details: error.details } };
    if (error instanceof BusFailure) return { failed: 'internal' };
    throw error;
  }
}
