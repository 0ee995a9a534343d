import type { Principal } from '@market/contracts';
import { apiKeyRevoked, authenticate, sessionEnded } from '@market/contracts/identity';
import { HandleSignal, MessageBus, type Call } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import { performance } from 'node:perf_hooks';
import type { Credential } from './bearer-key.js';

/** A revoked key, like an ended session, works nowhere after this time, whatever signals got lost. */
export const KEY_MEMORY_MS = 1_000;
const REMEMBERED_KEYS = 10_000;

interface Remembered {
  principal: Principal;
  untilMs: number;
}

/** Knows who a key or a session is. Asks identity at most once per credential and second, however many requests carry it. */
@Injectable()
export class Authenticator {
  private readonly remembered = new Map<string, Remembered>();
  private readonly asking = new Map<string, Promise<Principal>>();

  constructor(private readonly bus: MessageBus) {}

  /** The principal of a credential seen less than a second ago. */
  known({ hash }: Credential): Principal | undefined {
    const entry = this.remembered.get(hash);
    if (entry === undefined) return undefined;
    if (entry.untilMs > performance.now()) return entry.principal;
    this.remembered.delete(hash);
    return undefined;
  }

  /** @throws Refusal of kind `unauthenticated`, or that identity is out of reach. */
  ask({ kind, hash: keyHash }: Credential, call: Call): Promise<Principal> {
    const pending = this.asking.get(keyHash);
    if (pending) return pending;
    // Counted from the question, not from the answer: what was true when identity looked may be over when it arrives.
    const untilMs = performance.now() + KEY_MEMORY_MS;
    const answer: Promise<Principal> = this.bus.request(authenticate, { keyHash, kind }, call).then(
      (principal) => {
        if (this.isCurrent(keyHash, answer)) this.remember(keyHash, { principal, untilMs });
        return principal;
      },
      (error: unknown) => {
        this.isCurrent(keyHash, answer);
        throw error;
      },
    );
    this.asking.set(keyHash, answer);
    return answer;
  }

  @HandleSignal(apiKeyRevoked)
  @HandleSignal(sessionEnded)
  forget({ keyHash }: { keyHash: string }): void {
    this.remembered.delete(keyHash);
    this.asking.delete(keyHash);
  }

  /** False for an answer that a revocation has overtaken; it still answers those who asked, and is not kept. */
  private isCurrent(keyHash: string, answer: Promise<Principal>): boolean {
    return this.asking.get(keyHash) === answer && this.asking.delete(keyHash);
  }

  private remember(keyHash: string, entry: Remembered): void {
    const now = performance.now();
    this.remembered.delete(keyHash);
    this.remembered.set(keyHash, entry);
    for (const [oldest, { untilMs }] of this.remembered) {
      if (untilMs > now && this.remembered.size <= REMEMBERED_KEYS) return;
      this.remembered.delete(oldest);
    }
  }
}
