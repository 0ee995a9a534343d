import { CLAIMS_HELD_INTERVAL_MS, claimsHeld } from '@market/contracts/gateway';
import type { PayloadOf } from '@market/contracts';
import { HandleSignal } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import type { PaymentRow } from './payment.js';

/** A holder that was not heard for so many beats, two seconds, is gone: a busy event loop is late by less. */
const MISSED_HEARTBEATS = 5;
/** Beats of several holders within this time count as one. */
const HEARTBEAT_MS = 0.8 * CLAIMS_HELD_INTERVAL_MS;
/** So soon its holder need not have said anything of a claim. */
const HOLDER_TIMEOUT_MS = 2_000;

/**
 * Knows which claims are held by a living process of the gateway: each names all it holds every 400 ms to every process of the ledger.
 *
 * Time is counted in beats and passes only while some holder is heard. So whatever keeps this process from hearing any of them (it has
 * just started, the bus was away, it was paused, the machine is overloaded) makes nobody look gone. Only claims are freed by this; what
 * is charged is decided by their fences.
 */
@Injectable()
export class ClaimHolders {
  private beat = 0;
  private beatAt = -Infinity;
  /** Those that are not gone. */
  private readonly holders = new Map<string, { heardAt: number; paymentIds: ReadonlySet<string> }>();

  @HandleSignal(claimsHeld)
  onClaimsHeld({ holderId, paymentIds }: PayloadOf<typeof claimsHeld>): void {
    const now = performance.now();
    if (now - this.beatAt >= HEARTBEAT_MS) this.nextBeat(now);
    this.holders.set(holderId, { heardAt: this.beat, paymentIds: new Set(paymentIds) });
  }

  /** Whether a claim may be released in its holder's place, so that another attempt gets the next. `as_of` is PostgreSQL's clock. */
  isAbandoned({
    id,
    state,
    holder_id,
    claimed_at,
    lease_until,
    retry_until,
    as_of,
  }: PaymentRow & { as_of: Date }): boolean {
    if (state !== 'in_flight' || !holder_id || !claimed_at || !lease_until || !retry_until || retry_until <= as_of)
      return false;
    if (lease_until < as_of) return true;
    if (as_of.getTime() - claimed_at.getTime() < HOLDER_TIMEOUT_MS) return false;
    const holder = this.holders.get(holder_id);
    return holder ? !holder.paymentIds.has(id) : this.beat >= MISSED_HEARTBEATS;
  }

  private nextBeat(now: number): void {
    this.beat += 1;
    this.beatAt = now;
    for (const [id, { heardAt }] of this.holders) if (this.beat - heardAt >= MISSED_HEARTBEATS) this.holders.delete(id);
  }
}
