import { CLAIMS_HELD_INTERVAL_MS, claimsHeld } from '@market/contracts/gateway';
import type { PayloadOf } from '@market/contracts';
import { HandleSignal } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import type { PaymentRow } from './payment.js';

/**
 * A holder that misses this many heartbeats (two seconds) counts as stopped. The delays of a busy event loop are
 * shorter.
 */
const MISSED_HEARTBEATS = 5;
/** Heartbeats of several holders within this time count as one beat. */
const HEARTBEAT_MS = 0.8 * CLAIMS_HELD_INTERVAL_MS;
/** A claim younger than this may belong to a holder that has just started and was not heard yet. */
const HOLDER_TIMEOUT_MS = 2_000;
/**
 * A running holder may take this long to announce a claim. A busy process is late to read the answer to its request, and
 * announces a claim only when it has read it.
 */
const ANNOUNCEMENT_TIMEOUT_MS = 5_000;

/**
 * Tracks which claims are held by a running process of the gateway. Each gateway process announces its claims every 400
 * ms to every process of the ledger.
 *
 * Time is counted in heartbeats and passes only while at least one holder sends them. If this process receives none,
 * because it has just started, was paused or lost the bus, no holder counts as stopped. This only releases claims;
 * fences decide what is charged.
 */
@Injectable()
export class ClaimHolders {
  private beat = 0;
  private beatAt = -Infinity;
  /** The holders that are running. */
  private readonly holders = new Map<string, { heardAt: number; paymentIds: ReadonlySet<string> }>();

  @HandleSignal(claimsHeld)
  onClaimsHeld({ holderId, paymentIds }: PayloadOf<typeof claimsHeld>): void {
    const now = performance.now();
    if (now - this.beatAt >= HEARTBEAT_MS) this.nextBeat(now);
    this.holders.set(holderId, { heardAt: this.beat, paymentIds: new Set(paymentIds) });
  }

  /**
   * Whether the holder of a claim has stopped, so that the claim may be released. `as_of` is the time by PostgreSQL's
   * clock.
   */
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
    const ageMs = as_of.getTime() - claimed_at.getTime();
    const holder = this.holders.get(holder_id);
    return holder
      ? ageMs >= ANNOUNCEMENT_TIMEOUT_MS && !holder.paymentIds.has(id)
      : ageMs >= HOLDER_TIMEOUT_MS && this.beat >= MISSED_HEARTBEATS;
  }

  private nextBeat(now: number): void {
    this.beat += 1;
    this.beatAt = now;
    for (const [id, { heardAt }] of this.holders) if (this.beat - heardAt >= MISSED_HEARTBEATS) this.holders.delete(id);
  }
}
