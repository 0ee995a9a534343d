import type { OutputOf, Principal, Scope } from '@market/contracts';
import { apiKeyChanged, apiKeyRevoked, authenticate, getOwnedAgent, sessionEnded } from '@market/contracts/identity';
import { HandleSignal, MessageBus, refuse, type RequestContext } from '@market/messaging';
import { lookupCache } from '@market/runtime';
import { Injectable } from '@nestjs/common';
import type { Credential } from './bearer-key.js';

/** A revoked key or an ended session is refused everywhere after this time, even if signals were lost. */
export const KEY_CACHE_TTL_MS = 1_000;

/** An owner may do everything as its agent except spend money. */
const OWNERS_SCOPES: Scope[] = ['read', 'write'];

/** Resolves keys and sessions to principals. It asks identity at most once per credential and second. */
@Injectable()
export class Authenticator {
  private readonly principals = lookupCache<Principal, { kind: Credential['kind']; context: RequestContext }>(
    KEY_CACHE_TTL_MS,
    (keyHash, { kind, context }) => this.bus.request(authenticate, { keyHash, kind }, context),
  );

  private readonly agents = lookupCache<OutputOf<typeof getOwnedAgent>, { agentId: string; context: RequestContext }>(
    KEY_CACHE_TTL_MS,
    (_key, { agentId, context }) => this.bus.request(getOwnedAgent, { agentId }, context),
  );

  constructor(private readonly bus: MessageBus) {}

  /** The principal of a credential seen less than a second ago. */
  known({ hash }: Credential): Principal | undefined {
    return this.principals.get(hash);
  }

  /** @throws Refusal of kind `unauthenticated`, or because identity is unavailable. */
  ask({ kind, hash }: Credential, context: RequestContext): Promise<Principal> {
    return this.principals.forceFetch(hash, { context: { kind, context } });
  }

  /**
   * Returns the principal of a human that acts for an agent it has claimed. A claim is final, so only the end of the
   * session ends this access. The owner of a suspended agent can only look.
   * @throws Refusal `agent_not_found`, `account_suspended`, or because identity is unavailable.
   */
  async actFor(agentId: string, human: Principal, isRead: boolean, context: RequestContext): Promise<Principal> {
    const { accountId: ownerId, keyId } = human;
    const { isSuspended, ...agent } = await this.agents.forceFetch(`${ownerId} ${agentId}`, {
      context: { agentId, context },
    });
    if (isSuspended && !isRead) throw refuse(getOwnedAgent, 'account_suspended', {});
    return { ...agent, keyId, scopes: OWNERS_SCOPES, ownerId };
  }

  @HandleSignal(apiKeyRevoked)
  @HandleSignal(apiKeyChanged)
  @HandleSignal(sessionEnded)
  forget({ keyHash }: { keyHash: string }): void {
    this.principals.delete(keyHash);
  }
}
